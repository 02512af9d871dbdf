/* SPDX-License-Identifier: MIT */
#include "base/beneath.h"

#include "base/auto.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES 100 /* of names that somebody else has already */

/* musl does not have it. */
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1u
#endif

/* ---- paths ---- */

bool sbx_beneath_is_path(const char *path)
{
	return path[0] == '\0' || sbx_path_is_relative(path);
}

int sbx_beneath_open(int root_fd, const char *path, int flags)
{
	/* O_PATH goes with few other flags, and neither blocks nor becomes a terminal. */
	int extra = flags & O_PATH ? O_CLOEXEC | O_NOFOLLOW
				   : O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	struct open_how how = {
		.flags = (unsigned int)(flags | extra),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	if (!sbx_beneath_is_path(path) || flags & (O_CREAT | O_TRUNC))
		return -EINVAL;
	fd = syscall(SYS_openat2, root_fd, path[0] ? path : ".", &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

int sbx_beneath_open_file(int root_fd, const char *path, int flags)
{
	auto_close int fd = sbx_beneath_open(root_fd, path, flags);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? take_fd(fd) : -EINVAL;
}

/* Open the folder that path is in; *ret_name points at its last component. */
static int open_parent(int root_fd, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	size_t len = slash ? (size_t)(slash - path) : 0;

	if (path[0] == '\0' || !sbx_beneath_is_path(path))
		return -EINVAL;
	memcpy(folder, path, len);
	folder[len] = '\0';
	*ret_name = slash ? slash + 1 : path;
	return sbx_beneath_open(root_fd, folder, O_PATH | O_DIRECTORY);
}

/* ---- folders ---- */

int sbx_beneath_make_folder(int root_fd, const char *path, mode_t mode)
{
	const char *name;
	auto_close int folder_fd = open_parent(root_fd, path, &name);
	struct stat st;

	if (folder_fd < 0)
		return folder_fd;
	if (mkdirat(folder_fd, name, mode) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -EEXIST;
}

int sbx_beneath_make_folders(int root_fd, const char *path, mode_t mode)
{
	char part[PATH_MAX];
	int fd = sbx_beneath_open(root_fd, path, O_PATH | O_DIRECTORY);
	size_t len = strlen(path);

	if (fd != -ENOENT)
		return fd;
	/* One component at a time, because what was made may be swapped for a link meanwhile. */
	for (size_t i = 1; i <= len; i++) {
		int r;

		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		r = sbx_beneath_make_folder(root_fd, part, mode);
		if (r < 0)
			return r == -EEXIST ? -ENOTDIR : r;
	}
	return sbx_beneath_open(root_fd, path, O_PATH | O_DIRECTORY);
}

int sbx_beneath_remove(int root_fd, const char *path)
{
	const char *name;
	auto_close int folder_fd = open_parent(root_fd, path, &name);
	int no_file;

	if (folder_fd < 0)
		return folder_fd;
	if (unlinkat(folder_fd, name, 0) == 0)
		return 0;
	/* POSIX says EPERM for a folder, Linux EISDIR. */
	no_file = errno;
	if (no_file != EISDIR && no_file != EPERM)
		return -no_file;
	if (unlinkat(folder_fd, name, AT_REMOVEDIR) == 0)
		return 0;
	return errno == ENOTDIR ? -no_file : -errno;
}

/* ---- new files ---- */

/* A name that nobody can have made ready for us. */
static void name_temp(struct sbx_new_file *f)
{
	unsigned char bytes[8] = {0};
	size_t at = (size_t)snprintf(f->temp, sizeof(f->temp), ".sbx-");

	/* Without random bytes O_EXCL still protects; another try has other bytes or fails too. */
	if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != (ssize_t)sizeof(bytes))
		memcpy(bytes, &(pid_t){getpid()}, sizeof(pid_t));
	for (size_t i = 0; i < sizeof(bytes); i++)
		at += (size_t)snprintf(f->temp + at, sizeof(f->temp) - at, "%02x", bytes[i]);
}

static int open_temp(struct sbx_new_file *f, mode_t mode)
{
	for (int tries = 0; tries < TRIES; tries++) {
		name_temp(f);
		f->fd = openat(f->folder_fd, f->temp,
			       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
		if (f->fd >= 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	f->temp[0] = '\0';
	return -errno;
}

int sbx_new_file_begin(struct sbx_new_file *f, int root_fd, const char *path, mode_t mode)
{
	const char *name;
	int r;

	*f = (struct sbx_new_file){.fd = -1, .folder_fd = -1};
	f->folder_fd = open_parent(root_fd, path, &name);
	if (f->folder_fd < 0)
		return f->folder_fd;
	memcpy(f->name, name, strlen(name) + 1);
	r = open_temp(f, mode & 0777);
	if (r < 0)
		sbx_new_file_done(f);
	return r;
}

int sbx_new_file_commit(struct sbx_new_file *f, bool replace)
{
	long r = replace ? renameat(f->folder_fd, f->temp, f->folder_fd, f->name)
			 : syscall(SYS_renameat2, f->folder_fd, f->temp, f->folder_fd, f->name,
				   RENAME_NOREPLACE);

	/* A file system without the flag: a second name cannot replace anything either. */
	if (r < 0 && !replace && errno == EINVAL) {
		r = linkat(f->folder_fd, f->temp, f->folder_fd, f->name, 0);
		if (r == 0)
			unlinkat(f->folder_fd, f->temp, 0);
	}
	if (r < 0)
		return -errno;
	f->temp[0] = '\0';
	return 0;
}

void sbx_new_file_done(struct sbx_new_file *f)
{
	if (f->temp[0] != '\0')
		unlinkat(f->folder_fd, f->temp, 0);
	if (f->fd >= 0)
		close(f->fd);
	if (f->folder_fd >= 0)
		close(f->folder_fd);
	*f = (struct sbx_new_file){.fd = -1, .folder_fd = -1};
}

mode_t sbx_beneath_mode(uint32_t mode, bool is_folder)
{
	return (mode & 0755u) | (is_folder ? 0700u : 0);
}
