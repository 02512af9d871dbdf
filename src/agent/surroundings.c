/* SPDX-License-Identifier: MIT */
#include "agent/surroundings.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CGROUP	 "/sys/fs/cgroup/"
#define TEXT_MAX 4096

/* The start of a file, or "". */
static const char *read_text(const char *path, char ret[TEXT_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, ret, TEXT_MAX - 1) : 0;

	if (fd >= 0)
		close(fd);
	ret[n > 0 ? n : 0] = '\0';
	return ret;
}

/* ---- limits ---- */

/* "max" and what no machine has are no limit; "" is nothing to be seen. */
static uint64_t limit_of(const char *text)
{
	uint64_t value;

	if (text[0] == '\0')
		return 0;
	value = text[0] >= '0' && text[0] <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
	return value >= (uint64_t)1 << 60 ? UINT64_MAX : value == 0 ? 1 : value;
}

/* https://docs.kernel.org/admin-guide/cgroup-v2.html; version 1 beneath a folder a controller. */
static uint64_t read_limit(const char *v2, const char *v1)
{
	char text[TEXT_MAX];
	uint64_t limit = limit_of(read_text(v2, text));

	return limit != 0 ? limit : limit_of(read_text(v1, text));
}

/* Thousandths of a processor. */
static uint64_t share_of(uint64_t quota, uint64_t period)
{
	return quota == 0 || quota == UINT64_MAX || period == 0 ? quota : quota * 1000 / period;
}

static uint64_t read_cpu(void)
{
	char text[TEXT_MAX];
	const char *space = strchr(read_text(CGROUP "cpu.max", text), ' ');

	if (space != NULL)
		return share_of(limit_of(text), limit_of(space + 1));
	return share_of(limit_of(read_text(CGROUP "cpu/cpu.cfs_quota_us", text)),
			read_limit("", CGROUP "cpu/cpu.cfs_period_us"));
}

/* The largest that one of the folders may become; none: one of them is no file system of its own. */
static uint64_t read_disk(char *const *folders)
{
	uint64_t most = 0;

	for (; folders != NULL && *folders != NULL; folders++) {
		struct statfs fs;
		uint64_t bytes;

		if (statfs(*folders, &fs) < 0)
			continue;
		bytes = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
		if ((unsigned long)fs.f_type != TMPFS_MAGIC || bytes == 0)
			return UINT64_MAX;
		most = bytes > most ? bytes : most;
	}
	return most;
}

/* ---- the rest ---- */

static uint64_t read_capabilities(void)
{
	uint64_t set = 0;

	for (unsigned int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			set |= (uint64_t)1 << cap;
	return set;
}

/* See user_namespaces(7), "The uid_map": first inside, first outside, how many. */
static uint32_t map_user(uint32_t uid)
{
	char text[TEXT_MAX], *at = text;

	read_text("/proc/self/uid_map", text);
	while (*at != '\0') {
		uint64_t inside = strtoull(at, &at, 10), outside = strtoull(at, &at, 10);
		uint64_t count = strtoull(at, &at, 10);

		if (uid >= inside && uid - inside < count)
			return (uint32_t)(outside + (uid - inside));
		if (*at != '\n')
			break;
		at++;
	}
	return UINT32_MAX;
}

static bool leads_somewhere(int fd, const char *name, size_t len)
{
	struct ifreq interface = {0};

	if (len == 0 || len >= sizeof(interface.ifr_name))
		return false;
	memcpy(interface.ifr_name, name, len);
	return ioctl(fd, SIOCGIFFLAGS, &interface) == 0 && (interface.ifr_flags & IFF_UP) &&
	       !(interface.ifr_flags & IFF_LOOPBACK);
}

/* The kernel's own tunnels are in every network, and down. UINT32_MAX: nothing is to be seen, not even a loopback. */
static uint32_t count_interfaces(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char text[TEXT_MAX];
	const char *line = read_text("/proc/net/dev", text);
	uint32_t count = fd >= 0 && line[0] != '\0' ? 0 : UINT32_MAX;

	for (; fd >= 0 && line != NULL; line = strchr(line, '\n')) {
		const char *name = line + strspn(line, "\n "), *end = name + strcspn(name, ":\n");

		count += *end == ':' && leads_somewhere(fd, name, (size_t)(end - name));
		line = end;
	}
	if (fd >= 0)
		close(fd);
	return count;
}

void surroundings_look(struct wire_surroundings *ret, char *const *folders, uint32_t uid)
{
	struct statfs root;

	*ret = (struct wire_surroundings){
		.known = true,
		.memory_bytes = read_limit(CGROUP "memory.max", CGROUP "memory/memory.limit_in_bytes"),
		.processes = read_limit(CGROUP "pids.max", CGROUP "pids/pids.max"),
		.cpu_milli = read_cpu(),
		.disk_bytes = read_disk(folders),
		.capabilities = read_capabilities(),
		.host_uid = map_user(uid),
		.interfaces = count_interfaces(),
		.seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2,
		.read_only_root = statfs("/", &root) == 0 && (root.f_flags & ST_RDONLY) != 0,
	};
}
