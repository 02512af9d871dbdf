/* SPDX-License-Identifier: MIT */
#include "backend/native/ids.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* ---- what may be mapped ---- */

/* Whether all ids of every slot exist in our own user namespace. */
static bool whole_range_is_ours(void)
{
	auto_close int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	unsigned long inside, outside, count;
	char text[128];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return sscanf(text, "%lu %lu %lu", &inside, &outside, &count) == 3 && inside == 0 &&
	       count >= IDS_RANGE_BASE + (unsigned long)IDS_SLOTS * IDS_RANGE_SIZE;
}

/* The first range that /etc/subuid or /etc/subgid grants to the user, by name or by number. */
static bool find_subordinate(const char *path, const char *name, uint32_t uid, uint32_t *ret_first)
{
	struct sbx_error ignored;
	auto_free char *text = NULL;
	char number[16];
	char *line, *rest;
	size_t len;

	if (sbx_read_file(AT_FDCWD, path, 1 << 20, &text, &len, &ignored) < 0)
		return false;
	snprintf(number, sizeof(number), "%u", uid);
	for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		unsigned long first, count;
		char owner[64];

		if (sscanf(line, "%63[^:]:%lu:%lu", owner, &first, &count) != 3)
			continue;
		if ((strcmp(owner, name) != 0 && strcmp(owner, number) != 0) ||
		    count < IDS_RANGE_SIZE || first > UINT32_MAX - IDS_RANGE_SIZE)
			continue;
		*ret_first = (uint32_t)first;
		return true;
	}
	return false;
}

static bool has_subordinate_ids(struct ids *ids)
{
	struct passwd *user, entry;
	char buf[4096];

	if (access("/usr/bin/newuidmap", X_OK) < 0 || access("/usr/bin/newgidmap", X_OK) < 0)
		return false;
	if (getpwuid_r(ids->host_uid, &entry, buf, sizeof(buf), &user) != 0 || user == NULL)
		return false;
	return find_subordinate("/etc/subuid", user->pw_name, ids->host_uid, &ids->first_uid) &&
	       find_subordinate("/etc/subgid", user->pw_name, ids->host_uid, &ids->first_gid);
}

bool ids_have_subordinate(void)
{
	struct ids ids = {.host_uid = geteuid()};

	return has_subordinate_ids(&ids);
}

void ids_find(const struct sbx_spec *spec, unsigned int slot, struct ids *ret)
{
	*ret = (struct ids){
		.mode = IDS_SINGLE,
		.host_uid = geteuid(),
		.host_gid = getegid(),
		.inside_uid = spec->uid,
		.inside_gid = spec->gid,
		.count = 1,
	};
	if (ret->host_uid == 0 && whole_range_is_ours()) {
		ret->mode = IDS_RANGE;
		ret->first_uid = ret->first_gid = IDS_RANGE_BASE + slot * IDS_RANGE_SIZE;
		ret->count = IDS_RANGE_SIZE;
	} else if (ret->host_uid != 0 && has_subordinate_ids(ret)) {
		ret->mode = IDS_SUBORDINATE;
		ret->count = IDS_RANGE_SIZE;
		for (size_t i = 0; i < spec->mount_count; i++)
			ret->keep_own |= !spec->mounts[i].as_is;
		ret->keep_own &= spec->uid != 0 && spec->gid != 0;
	}
}

/* ---- writing the maps ---- */

static int write_proc(pid_t child, const char *file, const char *text, struct sbx_error *err)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)child, file);
	r = sbx_write_control(AT_FDCWD, path, text);
	if (r < 0)
		return sbx_fail_errno(err, -r, "cannot map the sandbox's ids (write '%s' to %s)", text,
				      file);
	return 0;
}

static int map_range(const struct ids *ids, pid_t child, struct sbx_error *err)
{
	char text[64];
	int r;

	snprintf(text, sizeof(text), "0 %u %u", ids->first_uid, ids->count);
	r = write_proc(child, "uid_map", text, err);
	return r < 0 ? r : write_proc(child, "gid_map", text, err);
}

/* An ordinary user may map one group only after giving up setgroups() (user_namespaces(7)). */
static int map_single(const struct ids *ids, pid_t child, struct sbx_error *err)
{
	char text[64];
	int r = write_proc(child, "setgroups", "deny", err);

	snprintf(text, sizeof(text), "%u %u 1", ids->inside_uid, ids->host_uid);
	if (r == 0)
		r = write_proc(child, "uid_map", text, err);
	snprintf(text, sizeof(text), "%u %u 1", ids->inside_gid, ids->host_gid);
	return r < 0 ? r : write_proc(child, "gid_map", text, err);
}

static int run_helper(char *const argv[], struct sbx_error *err)
{
	char *const env[] = {NULL};
	int status = 0, r;
	pid_t pid;

	r = posix_spawn(&pid, argv[0], NULL, NULL, argv, env);
	if (r != 0)
		return sbx_fail_errno(err, r, "cannot run %s", argv[0]);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return sbx_fail_errno(err, errno, "cannot wait for %s", argv[0]);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return sbx_fail(err, SBX_E_DENIED,
				"%s refused the sandbox's ids; check /etc/subuid and /etc/subgid",
				argv[0]);
	return 0;
}

/* newuidmap CHILD 0 FIRST COUNT, or with the hole for our own id that keep_own asks for. */
static int map_by_helper(const char *helper, pid_t child, uint32_t first, uint32_t own_inside,
			 const uint32_t *own, struct sbx_error *err)
{
	uint32_t rows[3][3] = {
		{0, first, own ? own_inside : IDS_RANGE_SIZE},
		{own_inside, own ? *own : 0, 1},
		{own_inside + 1, first + own_inside + 1, IDS_RANGE_SIZE - own_inside - 1},
	};
	char text[10][16];
	char *argv[12] = {(char *)helper};
	int n = 1, count = own ? 3 : 1;

	snprintf(text[0], sizeof(text[0]), "%d", (int)child);
	argv[n++] = text[0];
	for (int i = 0; i < count * 3; i++) {
		snprintf(text[1 + i], sizeof(text[0]), "%u", rows[i / 3][i % 3]);
		argv[n++] = text[1 + i];
	}
	return run_helper(argv, err);
}

int ids_map(const struct ids *ids, const struct sbx_spec *spec, pid_t child, struct sbx_error *err)
{
	int r;

	if (ids->mode == IDS_RANGE)
		return map_range(ids, child, err);
	if (ids->mode == IDS_SINGLE)
		return map_single(ids, child, err);
	r = map_by_helper("/usr/bin/newuidmap", child, ids->first_uid, spec->uid,
			  ids->keep_own ? &ids->host_uid : NULL, err);
	if (r < 0)
		return r;
	return map_by_helper("/usr/bin/newgidmap", child, ids->first_gid, spec->gid,
			     ids->keep_own ? &ids->host_gid : NULL, err);
}

void ids_describe(const struct ids *ids, char *ret, size_t size)
{
	if (ids->mode == IDS_SINGLE)
		snprintf(ret, size, "one id: inside %u is our own %u", ids->inside_uid, ids->host_uid);
	else
		snprintf(ret, size, "%s host ids %u-%u%s",
			 ids->mode == IDS_RANGE ? "its own" : "subordinate", ids->first_uid,
			 ids->first_uid + ids->count - 1,
			 ids->keep_own ? "; its user is our own id, for the mounts" : "");
}
