/* SPDX-License-Identifier: MIT */
/*
 * What a sandbox could leave on the machine, counted before and after.
 *
 * Processes and namespaces are counted where they are not our own kind: a process in another
 * pid namespace than the test's, a namespace that the test is not in. What others do on the
 * machine meanwhile shows too, so these tests run alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum census_kind {
	CENSUS_PROCESSES,
	CENSUS_NAMESPACES,
	CENSUS_MOUNTS,
	CENSUS_CGROUPS,
	CENSUS_FILES, /* in /tmp, /dev/shm and the runtime folder */
	CENSUS_SHARED_MEMORY,
	CENSUS_DESCRIPTORS,
	CENSUS_KINDS
};

struct census {
	size_t count[CENSUS_KINDS];
};

void census_take(struct census *ret);

/* Wait at most timeout_ms until nothing is more than it was; fails the test then, by name. */
void census_expect(const struct census *before, unsigned int timeout_ms);

/* The processes whose ancestor is root, at most max of them; how many. */
size_t census_descendants(pid_t root, pid_t *ret, size_t max);

/* The parent of a process, or 0 when there is no such process. */
pid_t census_parent(pid_t pid);
