/* SPDX-License-Identifier: MIT */
#include "backend/native/cgroup.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MOUNT "/sys/fs/cgroup"

static const char *const controller_names[CGROUP_CONTROLLERS] = {
	[CGROUP_MEMORY] = "memory",
	[CGROUP_PIDS] = "pids",
	[CGROUP_CPU] = "cpu",
};

/* ---- where ---- */

static bool is_v2(void)
{
	return access(MOUNT "/cgroup.controllers", F_OK) == 0;
}

bool cgroup_takes_births(void)
{
	return is_v2();
}

const char *cgroup_layout(void)
{
	if (is_v2())
		return "v2";
	if (access(MOUNT "/memory", F_OK) < 0 && access(MOUNT "/pids", F_OK) < 0)
		return "none";
	return access(MOUNT "/unified", F_OK) == 0 ? "hybrid" : "v1";
}

/* A comma-separated list has this word. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (;;) {
		size_t n = strcspn(list, ",");

		if (n == len && strncmp(list, word, len) == 0)
			return true;
		if (list[n] == '\0')
			return false;
		list += n + 1;
	}
}

/* What /proc/self/cgroup says: a line "id:controllers:/path" for each hierarchy. */
struct own_groups {
	char text[8192];
};

static void read_own_groups(struct own_groups *ret)
{
	auto_close int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : sbx_read_full(fd, ret->text, sizeof(ret->text) - 1);

	ret->text[n > 0 ? n : 0] = '\0';
}

/* Our own group in the hierarchy of the controller ("" for v2): "/a/b"; "" for its root. */
static void own_group(const struct own_groups *own, const char *controller, char *ret, size_t size)
{
	char lines[sizeof(own->text)], *line, *rest;

	ret[0] = '\0';
	memcpy(lines, own->text, sizeof(lines));
	for (line = strtok_r(lines, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		if (path == NULL)
			continue;
		*path++ = '\0';
		if (has_word(list + 1, controller) && strcmp(path, "/") != 0 &&
		    strstr(path, "/..") == NULL)
			snprintf(ret, size, "%s", path);
	}
}

#define CANDIDATES 2

/* The folders to try for `llm-sandbox`, best first; how many there are. */
static int find_candidates(const struct own_groups *own, bool v2, enum cgroup_controller c,
			   char ret[CANDIDATES][PATH_MAX])
{
	const char *base = controller_names[c];
	char group[PATH_MAX / 2], *last;

	own_group(own, v2 ? "" : base, group, sizeof(group));
	if (!v2) {
		snprintf(ret[0], PATH_MAX, MOUNT "/%s%s/llm-sandbox", base, group);
		snprintf(ret[1], PATH_MAX, MOUNT "/%s/llm-sandbox", base);
		return group[0] != '\0' ? 2 : 1;
	}
	/* Only a group without processes of its own may have limited children: beside us. */
	last = strrchr(group, '/');
	if (last != NULL)
		*last = '\0';
	snprintf(ret[0], PATH_MAX, MOUNT "%s/llm-sandbox", geteuid() == 0 ? "" : group);
	return 1;
}

/* ---- making ---- */

static bool read_text(int dirfd, const char *file, char *ret, size_t size)
{
	auto_close int fd = openat(dirfd, file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : sbx_read_full(fd, ret, size - 1);

	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/*
 * A group with processes of its own must not be divided. The kernel refuses that for memory only:
 * by pids or cpu the group would turn into a threaded one. The hierarchy's root, which has no
 * type, may (cgroups(7), "No internal processes").
 */
static bool is_above_occupied(int fd)
{
	char text[32];

	return faccessat(fd, "../../cgroup.type", F_OK, 0) == 0 &&
	       read_text(fd, "../../cgroup.procs", text, sizeof(text));
}

/*
 * In v2 a controller must be handed down, level by level, to the group behind fd. Each by itself:
 * one write with a controller that is not there changes nothing at all. 0 or -errno.
 */
static int hand_down(int fd, enum cgroup_controller c)
{
	char word[16];
	int above, here;

	if (is_above_occupied(fd))
		return -EBUSY;
	snprintf(word, sizeof(word), "+%s", controller_names[c]);
	above = sbx_write_control(fd, "../../cgroup.subtree_control", word);
	here = sbx_write_control(fd, "../cgroup.subtree_control", word);
	/* The first fails where another did it for us; it is the reason only if both fail. */
	return here < 0 && above < 0 ? above : here;
}

/* Make `folder`/SLOT and open it: the descriptor, or -errno. A leftover of a dead owner is
 * empty and is made anew, so that no counter of it is seen. */
static int make_folder(const char *folder, const struct slot *slot, char **ret_path)
{
	auto_free char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/%u", folder, slot->number) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	dprintf(slot->lock_fd, "%s\n", path);
	if (mkdir(path, 0755) < 0) {
		if (errno == EEXIST && rmdir(path) < 0)
			return -errno;
		if (mkdir(folder, 0755) < 0 && errno != EEXIST)
			return -errno;
		if (mkdir(path, 0755) < 0)
			return -errno;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		int problem = -errno;

		rmdir(path);
		return problem;
	}
	*ret_path = take_ptr(path);
	return fd;
}

static void make_part(struct cgroup *cg, enum cgroup_controller c, const struct own_groups *own,
		      const struct slot *slot)
{
	struct cgroup_part *part = &cg->parts[c];
	char folders[CANDIDATES][PATH_MAX];
	int count = find_candidates(own, cg->v2, c, folders);

	part->problem = ENOENT;
	for (int n = 0; part->fd < 0 && n < count; n++) {
		int fd = make_folder(folders[n], slot, &part->path);

		part->fd = fd >= 0 ? fd : -1;
		part->problem = fd >= 0 ? 0 : -fd;
	}
}

static int write_number(int dirfd, const char *file, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return sbx_write_control(dirfd, file, text);
}

/* The agent is in the group too, hence one more. */
static int limit_pids(int fd, const struct sbx_spec *spec)
{
	return write_number(fd, "pids.max", spec->limits[SBX_LIMIT_PROCESSES] + 1);
}

static int limit_memory(struct cgroup *cg, int fd, const struct sbx_spec *spec)
{
	uint64_t bytes = spec->limits[SBX_LIMIT_MEMORY_BYTES];
	int r;

	if (cg->v2) {
		r = write_number(fd, "memory.max", bytes);
		cg->swap_limited = sbx_write_control(fd, "memory.swap.max", "0") == 0;
		return r;
	}
	r = write_number(fd, "memory.limit_in_bytes", bytes);
	cg->swap_limited = write_number(fd, "memory.memsw.limit_in_bytes", bytes) == 0 ||
			   write_number(fd, "memory.swappiness", 0) == 0;
	return r;
}

static int limit_cpu(const struct cgroup *cg, int fd, const struct sbx_spec *spec)
{
	uint64_t quota_us = spec->limits[SBX_LIMIT_CPU_MILLI] * 100;
	char text[64];

	if (!cg->v2)
		return write_number(fd, "cpu.cfs_quota_us", quota_us);
	snprintf(text, sizeof(text), "%llu 100000", (unsigned long long)quota_us);
	return sbx_write_control(fd, "cpu.max", text);
}

/* The folder that a controller's files are in, or -1. */
static int part_fd(const struct cgroup *cg, enum cgroup_controller c)
{
	return cg->parts[cg->v2 ? CGROUP_MEMORY : c].fd;
}

static int set_limit(struct cgroup *cg, enum cgroup_controller c, int fd,
		     const struct sbx_spec *spec)
{
	if (c == CGROUP_MEMORY)
		return limit_memory(cg, fd, spec);
	if (c == CGROUP_PIDS)
		return limit_pids(fd, spec);
	return limit_cpu(cg, fd, spec);
}

/*
 * The v2 folder `llm-sandbox` gets its controllers with the first sandbox that misses one: not by
 * whoever made it, who may be a moment behind us or may have had fewer.
 */
static void set_limits(struct cgroup *cg, const struct sbx_spec *spec)
{
	for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
		enum cgroup_controller controller = (enum cgroup_controller)c;
		int fd = part_fd(cg, controller), r;

		if (fd < 0) {
			if (cg->v2)
				cg->parts[c].problem = cg->parts[CGROUP_MEMORY].problem;
			continue;
		}
		r = set_limit(cg, controller, fd, spec);
		if (r == -ENOENT && cg->v2) {
			r = hand_down(fd, controller);
			if (r == 0)
				r = set_limit(cg, controller, fd, spec);
		}
		cg->parts[c].problem = -r;
	}
}

/* Whether the controller gets a folder of its own. */
static bool has_folder(const struct cgroup *cg, enum cgroup_controller c)
{
	if (cg->v2)
		return c == CGROUP_MEMORY;
	return c != CGROUP_PIDS || !cg->pids_by_user;
}

void cgroup_make(struct cgroup *ret, const struct slot *slot, const struct sbx_spec *spec,
		 bool own_user)
{
	bool v2 = is_v2();
	struct own_groups own;

	*ret = (struct cgroup){.v2 = v2, .pids_by_user = own_user && !v2};
	read_own_groups(&own);
	for (int c = 0; c < CGROUP_CONTROLLERS; c++)
		ret->parts[c].fd = -1;
	for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
		if (has_folder(ret, (enum cgroup_controller)c))
			make_part(ret, (enum cgroup_controller)c, &own, slot);
	}
	set_limits(ret, spec);
}

int cgroup_birth_fd(const struct cgroup *cg)
{
	return cg->v2 ? cg->parts[CGROUP_MEMORY].fd : -1;
}

bool cgroup_give_up_birth(struct cgroup *cg, int sys_errno)
{
	bool by_cgroup = sys_errno == EACCES || sys_errno == ENOENT || sys_errno == EBUSY ||
			 sys_errno == EOPNOTSUPP || sys_errno == ENODEV;

	if (!by_cgroup || cgroup_birth_fd(cg) < 0)
		return false;
	cgroup_remove(cg);
	for (int c = 0; c < CGROUP_CONTROLLERS; c++)
		cg->parts[c].problem = sys_errno;
	return true;
}

size_t cgroup_open_doors(struct cgroup *cg, int ret[CGROUP_CONTROLLERS])
{
	size_t count = 0;

	for (int c = 0; !cg->v2 && c < CGROUP_CONTROLLERS; c++) {
		struct cgroup_part *part = &cg->parts[c];
		int fd = part->fd < 0 ? -1 : openat(part->fd, "tasks", O_WRONLY | O_CLOEXEC);

		if (fd >= 0)
			ret[count++] = fd;
		else if (part->fd >= 0)
			part->problem = errno;
	}
	return count;
}

/* ---- reading ---- */

/* The number behind "key " in a file of such lines, or 0. */
static uint64_t read_key(int dirfd, const char *file, const char *key)
{
	char text[1024], *at;

	if (!read_text(dirfd, file, text, sizeof(text)))
		return 0;
	at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static uint64_t read_number(int dirfd, const char *file)
{
	char text[64];

	return read_text(dirfd, file, text, sizeof(text)) ? strtoull(text, NULL, 10) : 0;
}

void cgroup_usage(const struct cgroup *cg, struct sbx_place_usage *ret)
{
	int fd = cg->parts[CGROUP_MEMORY].fd;

	if (fd < 0 || cg->parts[CGROUP_MEMORY].problem != 0)
		return;
	ret->peak_memory_bytes = read_number(fd, cg->v2 ? "memory.peak" : "memory.max_usage_in_bytes");
	ret->oom_kills = read_key(fd, cg->v2 ? "memory.events" : "memory.oom_control", "oom_kill ");
}

void cgroup_reset_peak(const struct cgroup *cg)
{
	int fd = cg->parts[CGROUP_MEMORY].fd;

	if (fd >= 0 && !cg->v2)
		sbx_write_control(fd, "memory.max_usage_in_bytes", "0");
}

static void report_part(const struct cgroup *cg, enum cgroup_controller c, const char *name,
			const char *detail, struct sbx_report *report)
{
	int problem = cg->parts[c].problem;

	if (problem == 0)
		sbx_report_add(report, name, SBX_ENFORCED, "%s (cgroup %s)", detail,
			       cg->v2 ? "v2" : "v1");
	else if (problem == EBUSY && cg->v2)
		sbx_report_add(report, name, SBX_MISSING,
			       "%s cgroup: the group that would be divided has processes of its own; "
			       "move them to a group below it",
			       controller_names[c]);
	else if (problem == ENOENT && cg->v2)
		sbx_report_add(report, name, SBX_MISSING,
			       "%s cgroup: the controller is not handed down to our group",
			       controller_names[c]);
	else if (problem == ENOENT)
		sbx_report_add(report, name, SBX_MISSING, "this machine has no %s cgroup",
			       controller_names[c]);
	else
		sbx_report_add(report, name, SBX_MISSING,
			       "%s cgroup: %s; run as root, or in a scope of your own "
			       "(systemd-run --user --scope -p Delegate=yes)",
			       controller_names[c], strerror(problem));
}

void cgroup_report(const struct cgroup *cg, const uint64_t limits[SBX_LIMIT_COUNT],
		   struct sbx_report *report)
{
	char text[96];

	snprintf(text, sizeof(text), "%llu bytes%s",
		 (unsigned long long)limits[SBX_LIMIT_MEMORY_BYTES],
		 cg->swap_limited ? ", no swap" : "");
	report_part(cg, CGROUP_MEMORY, "memory limit", text, report);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)limits[SBX_LIMIT_PROCESSES]);
	if (cg->pids_by_user)
		sbx_report_add(report, "process limit", SBX_ENFORCED,
			       "%s (rlimit; nobody else has the sandbox's user id)", text);
	else
		report_part(cg, CGROUP_PIDS, "process limit", text, report);
	snprintf(text, sizeof(text), "%.2f CPUs", (double)limits[SBX_LIMIT_CPU_MILLI] / 1000);
	report_part(cg, CGROUP_CPU, "cpu limit", text, report);
}

/* ---- removing ---- */

/* The kernel may still hold the last process for a moment after it was reaped. */
static void remove_folder(const char *path)
{
	uint64_t deadline = sbx_deadline_ns(2000);

	while (rmdir(path) < 0 && errno == EBUSY && sbx_now_ns() < deadline)
		usleep(200);
}

void cgroup_remove(struct cgroup *cg)
{
	for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
		struct cgroup_part *part = &cg->parts[c];

		if (part->fd < 0)
			continue;
		close(part->fd);
		remove_folder(part->path);
		free(part->path);
		part->fd = -1;
		part->path = NULL;
	}
}

/* Only what we make: a folder of digits in a `llm-sandbox` of the cgroup tree. */
static bool is_ours(const char *path)
{
	const char *last = strrchr(path, '/');

	return strncmp(path, MOUNT "/", sizeof(MOUNT)) == 0 && strstr(path, "..") == NULL &&
	       last - path > 12 && strncmp(last - 12, "/llm-sandbox", 12) == 0 &&
	       last[1] != '\0' && last[1 + strspn(last + 1, "0123456789")] == '\0';
}

bool cgroup_sweep(int slot_fd)
{
	char text[4 * CGROUP_CONTROLLERS * PATH_MAX], *line, *rest;
	ssize_t n = pread(slot_fd, text, sizeof(text) - 1, 0);
	bool empty = true;

	text[n > 0 ? n : 0] = '\0';
	for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		if (is_ours(line) && rmdir(line) < 0 && errno == EBUSY)
			empty = false;
	}
	return empty;
}
