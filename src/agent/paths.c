/* SPDX-License-Identifier: MIT */
#include "agent/paths.h"

#include "agent/send.h"
#include "base/auto.h"
#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

static int open_here(int dirfd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)(flags | O_CLOEXEC),
		.resolve = RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int path_base(const struct agent_fence *fence, const char *path, const char **ret_rest)
{
	bool absolute = path[0] == '/';
	const char *rest = path + absolute;

	if (!absolute && strcmp(rest, ".") == 0)
		rest++;
	if (!sbx_beneath_is_path(rest))
		return -EINVAL;
	*ret_rest = rest;
	return open_here(AT_FDCWD, absolute ? "/" : fence->setup->workdir, O_PATH | O_DIRECTORY);
}

int path_open(const struct agent_fence *fence, const char *path, int flags)
{
	const char *rest;
	auto_close int base_fd = path_base(fence, path, &rest);

	if (base_fd < 0)
		return base_fd;
	flags |= flags & O_PATH ? O_NOFOLLOW : O_NOFOLLOW | O_NOCTTY;
	return open_here(base_fd, rest[0] ? rest : ".", flags);
}

int path_stat(const struct agent_fence *fence, const char *path, struct stat *ret)
{
	auto_close int fd = path_open(fence, path, O_PATH);

	if (fd < 0)
		return fd;
	return fstat(fd, ret) < 0 ? -errno : 0;
}

/* ---- what the host is told ---- */

struct reason {
	int sys_errno;
	enum sbx_code code;
	const char *text; /* NULL: strerror() has it */
};

/* What is not here is SBX_E_SYSTEM. */
static const struct reason reasons[] = {
	{ENOENT, SBX_E_NOT_FOUND, NULL},
	{EINVAL, SBX_E_INVALID, "it is no regular file or folder, or no path"},
	{EEXIST, SBX_E_INVALID, "there is something of that name"},
	{ENOTEMPTY, SBX_E_INVALID, "it is a folder that is not empty"},
	{EISDIR, SBX_E_INVALID, "it is a folder"},
	{ENOTDIR, SBX_E_INVALID, "it is no folder, or below something that is none"},
	{ENAMETOOLONG, SBX_E_LIMIT, "the path is too long"},
	{EFBIG, SBX_E_LIMIT, "it is larger than allowed"},
	{ELOOP, SBX_E_DENIED, "it is a link, or below one, and links are not followed"},
	{ENOSPC, SBX_E_LIMIT, "the disk limit of the sandbox is reached"},
	{EDQUOT, SBX_E_LIMIT, "the disk limit of the sandbox is reached"},
	{ENOMEM, SBX_E_LIMIT, "the memory limit of the sandbox is reached"},
};

void path_refuse(struct sbx_conn *conn, uint32_t channel, int sys_errno, const char *verb,
		 const char *path)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		const struct reason *r = &reasons[i];

		if (r->sys_errno != sys_errno)
			continue;
		send_error(conn, channel, r->code, 0, "cannot %s '%.256s': %s", verb, path,
			   r->text ? r->text : strerror(sys_errno));
		return;
	}
	send_error(conn, channel, SBX_E_SYSTEM, sys_errno, "cannot %s '%.256s'", verb, path);
}

enum wire_entry_kind path_kind(const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return WIRE_FILE;
	if (S_ISDIR(st->st_mode))
		return WIRE_FOLDER;
	return S_ISLNK(st->st_mode) ? WIRE_LINK : WIRE_OTHER;
}

uint64_t path_time_ns(const struct timespec *time)
{
	if (time->tv_sec < 0)
		return 0;
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

void path_send_entry(struct sbx_conn *conn, uint32_t channel, const struct stat *st,
		     enum wire_entry_kind kind, const char *name)
{
	struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	struct wire_entry e = {
		.kind = (uint8_t)kind,
		.mode = st->st_mode & 07777,
		.size = (uint64_t)st->st_size,
		.mtime_ns = path_time_ns(&st->st_mtim),
		.ctime_ns = path_time_ns(&st->st_ctim),
		.name = (char *)name,
	};

	wire_entry_format(&payload, &e);
	send_bytes(conn, WIRE_ENTRY, channel, payload.data, payload.len);
	sbx_buf_done(&payload);
}
