/* SPDX-License-Identifier: MIT */
#include "base/walk.h"

#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static DIR *open_dir(int fd)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir == NULL && fd >= 0)
		close(fd);
	return dir;
}

int sbx_walk_begin(struct sbx_walk *w, int root_fd, bool deep)
{
	int fd = sbx_beneath_open(root_fd, "", O_RDONLY | O_DIRECTORY);
	int r = fd < 0 ? fd : 0;

	*w = (struct sbx_walk){.root_fd = root_fd, .deep = deep};
	w->dir = open_dir(fd);
	if (r == 0 && w->dir == NULL)
		r = -ENOMEM;
	if (r < 0)
		sbx_walk_done(w);
	return r;
}

void sbx_walk_done(struct sbx_walk *w)
{
	if (w->dir != NULL)
		closedir(w->dir);
	if (w->root_fd >= 0)
		close(w->root_fd);
	free(w->levels);
	*w = (struct sbx_walk){.root_fd = -1};
}

/* ---- down and up ---- */

static int push(struct sbx_walk *w)
{
	if (w->depth == w->capacity) {
		size_t capacity = w->capacity ? 2 * w->capacity : 16;
		struct sbx_walk_level *grown = realloc(w->levels, capacity * sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		w->levels = grown;
		w->capacity = capacity;
	}
	w->levels[w->depth++] = (struct sbx_walk_level){.at = telldir(w->dir), .length = w->folder_len};
	return 0;
}

/* Open the folder that is the present entry. */
static int enter(struct sbx_walk *w)
{
	int fd = sbx_beneath_open(w->root_fd, w->path, O_RDONLY | O_DIRECTORY);
	DIR *dir;
	int r;

	if (fd < 0)
		return fd;
	if (sbx_is_on_proc(fd)) {
		close(fd);
		return -EACCES;
	}
	dir = open_dir(fd);
	if (dir == NULL)
		return -ENOMEM;
	r = push(w);
	if (r < 0) {
		closedir(dir);
		return r;
	}
	closedir(w->dir);
	w->dir = dir;
	w->folder_len = strlen(w->path);
	return 0;
}

/* Go on in the folder above; one that is gone meanwhile has nothing more. */
static bool leave(struct sbx_walk *w)
{
	while (w->depth > 0) {
		const struct sbx_walk_level *level = &w->levels[--w->depth];
		DIR *dir;

		w->folder_len = level->length;
		w->path[level->length] = '\0';
		dir = open_dir(sbx_beneath_open(w->root_fd, w->path, O_RDONLY | O_DIRECTORY));
		if (dir == NULL)
			continue;
		seekdir(dir, level->at);
		closedir(w->dir);
		w->dir = dir;
		return true;
	}
	return false;
}

/* ---- entries ---- */

static const char *entry_name(const struct sbx_walk *w)
{
	return w->path + w->folder_len + (w->folder_len > 0);
}

/* The present entry's path: false when it is too long for one. */
static bool set_path(struct sbx_walk *w, const char *name)
{
	size_t at = w->folder_len, len = strlen(name);

	if (at + 1 + len >= sizeof(w->path))
		return false;
	if (at > 0)
		w->path[at++] = '/';
	memcpy(w->path + at, name, len + 1);
	return true;
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int sbx_walk_next(struct sbx_walk *w, struct stat *ret, bool *ret_closed)
{
	*ret_closed = false;
	for (;;) {
		const struct dirent *entry = readdir(w->dir);
		int r;

		if (entry == NULL && !leave(w))
			return 0;
		if (entry == NULL || is_dot(entry->d_name))
			continue;
		if (!set_path(w, entry->d_name))
			return -ENAMETOOLONG;
		if (fstatat(dirfd(w->dir), entry->d_name, ret, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!w->deep || !S_ISDIR(ret->st_mode))
			return 1;
		r = enter(w);
		if (r == -ENOMEM)
			return r;
		if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
			continue; /* gone, or swapped, since the line above */
		*ret_closed = r < 0;
		return 1;
	}
}

int sbx_walk_open(struct sbx_walk *w)
{
	int fd = openat(dirfd(w->dir), entry_name(w),
			O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

bool sbx_is_on_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC;
}
