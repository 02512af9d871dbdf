/* SPDX-License-Identifier: MIT */
#include "backend/rlimits.h"

#include <sys/resource.h>

/*
 * The limit, if any, plus the number. One file may be a little larger than the disk, so that a
 * program meets ENOSPC and not SIGXFSZ.
 */
static const struct {
	uint32_t resource;
	int limit; /* enum sbx_limit, or -1 */
	uint64_t value;
} rlimits[] = {
	{RLIMIT_CORE, -1, 0},
	{RLIMIT_NOFILE, SBX_LIMIT_OPEN_FILES, 0},
	{RLIMIT_NPROC, SBX_LIMIT_PROCESSES, 0},
	{RLIMIT_FSIZE, SBX_LIMIT_DISK_BYTES, 1 << 20},
	{RLIMIT_MEMLOCK, -1, 64 << 10},
	{RLIMIT_STACK, -1, 8 << 20},
	{RLIMIT_MSGQUEUE, -1, 64 << 10},
	/* Timers count as well. Where a user is the machine's own too, most of its signals stay its own. */
	{RLIMIT_SIGPENDING, -1, 1024},
};

void sbx_rlimits_set(struct wire_setup *ret, const uint64_t limits[SBX_LIMIT_COUNT],
		     bool without_count)
{
	for (size_t i = 0; i < sizeof(rlimits) / sizeof(rlimits[0]); i++) {
		if (rlimits[i].resource == RLIMIT_NPROC && without_count)
			continue;
		ret->rlimits[ret->rlimit_count++] = (struct wire_rlimit){
			.resource = rlimits[i].resource,
			.value = rlimits[i].value +
				 (rlimits[i].limit < 0 ? 0 : limits[rlimits[i].limit]),
		};
	}
}
