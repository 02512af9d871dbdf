/* SPDX-License-Identifier: MIT */
#include "agent/removal.h"

#include "agent/paths.h"
#include "base/auto.h"
#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEPS_MAX 50000000u /* a program that fills faster than we empty shall not keep us */

/* ---- begin and end ---- */

void removal_done(struct removal *r)
{
	if (r->inner != NULL)
		closedir(r->inner);
	if (r->top != NULL)
		closedir(r->top);
	if (r->parent_fd >= 0)
		close(r->parent_fd);
	*r = (struct removal){.parent_fd = -1};
}

static DIR *open_folder(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir == NULL && fd >= 0)
		close(fd);
	return dir;
}

/* As rm(1) cannot: a folder that its owner closed is opened for us. */
static DIR *force_open(int dirfd, const char *name)
{
	DIR *dir = open_folder(dirfd, name);

	if (dir != NULL || errno != EACCES)
		return dir;
	return fchmodat(dirfd, name, 0700, AT_SYMLINK_NOFOLLOW) < 0 ? NULL
								     : open_folder(dirfd, name);
}

static bool is_workdir(const struct agent_fence *fence, int fd)
{
	struct stat one, two;

	return fstat(fd, &one) == 0 && stat(fence->setup->workdir, &two) == 0 &&
	       one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

/* A folder that relative paths start in is emptied and stays. */
static int begin_workdir(struct removal *r, int fd, bool deep)
{
	if (!deep)
		return -ENOTEMPTY;
	r->top = open_folder(fd, ".");
	return r->top == NULL ? -errno : 0;
}

static int begin_below(struct removal *r, int base_fd, const char *path, bool deep)
{
	const char *slash = strrchr(path, '/');
	auto_free char *folder = strndup(path, slash ? (size_t)(slash - path) : 0);
	int result = sbx_beneath_remove(base_fd, path);

	if (result == 0)
		return 1;
	if (!deep || (result != -ENOTEMPTY && result != -EEXIST))
		return result;
	if (folder == NULL)
		return -ENOMEM;
	r->parent_fd = sbx_beneath_open(base_fd, folder, O_PATH | O_DIRECTORY);
	if (r->parent_fd < 0)
		return r->parent_fd;
	snprintf(r->name, sizeof(r->name), "%s", slash ? slash + 1 : path);
	r->top = force_open(r->parent_fd, r->name);
	return r->top == NULL ? -errno : 0;
}

int removal_begin(struct removal *r, const struct agent_fence *fence, const char *path, bool deep)
{
	const char *rest;
	auto_close int base_fd = path_base(fence, path, &rest);
	auto_close int fd = base_fd < 0 ? -1 : sbx_beneath_open(base_fd, rest, O_PATH);
	int result;

	*r = (struct removal){.parent_fd = -1};
	if (base_fd < 0 || fd < 0)
		return base_fd < 0 ? base_fd : fd;
	if (is_workdir(fence, fd))
		result = begin_workdir(r, fd, deep);
	else if (rest[0] == '\0')
		result = -EBUSY;
	else
		result = begin_below(r, base_fd, rest, deep);
	if (result < 0)
		removal_done(r);
	return result;
}

/* ---- steps ---- */

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Move a folder of the inner one to the top, under a name that nothing has. */
static int lift(struct removal *r, const char *name)
{
	char lifted[32];

	for (int tries = 0; tries < 100; tries++) {
		snprintf(lifted, sizeof(lifted), ".sbx-%llx-%x", (unsigned long long)r->steps,
			 (unsigned int)tries);
		if (renameat(dirfd(r->inner), name, dirfd(r->top), lifted) == 0)
			return 0;
		if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
			return -errno;
	}
	return -errno;
}

/* 0: it is gone; -ENOTEMPTY: it is a folder with something in it. */
static int remove_one(int dirfd, const char *name)
{
	int no_file;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	no_file = errno;
	if (no_file != EISDIR && no_file != EPERM)
		return -no_file;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno == ENOTDIR)
		return -no_file;
	return errno == EEXIST ? -ENOTEMPTY : -errno;
}

/* Of a folder that its owner closed for writing. */
static int force_remove_one(int dirfd, const char *name)
{
	int r = remove_one(dirfd, name);

	if (r == -EACCES && fchmod(dirfd, 0700) == 0)
		r = remove_one(dirfd, name);
	return r;
}

/* A folder can be moved out of its parent by who may write in it only: ".." changes. */
static int force_lift(struct removal *r, const char *name)
{
	int result = lift(r, name);

	if (result == -EACCES && fchmod(dirfd(r->top), 0700) == 0 &&
	    fchmodat(dirfd(r->inner), name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		result = lift(r, name);
	/* Whoever is swapping names meanwhile will not get a second look. */
	return result == -ENOENT ? 0 : result;
}

static int step_inner(struct removal *r)
{
	const struct dirent *entry = readdir(r->inner);
	int result;

	if (entry == NULL) {
		closedir(r->inner);
		r->inner = NULL;
		result = remove_one(dirfd(r->top), r->inner_name);
		return result == -ENOTEMPTY ? 0 : result;
	}
	if (is_dot(entry->d_name))
		return 0;
	r->progress = true;
	result = force_remove_one(dirfd(r->inner), entry->d_name);
	return result == -ENOTEMPTY ? force_lift(r, entry->d_name) : result;
}

/* The top has been read to its end. */
static int end_pass(struct removal *r)
{
	bool again = r->progress;

	if (!again && r->name[0] != '\0' &&
	    unlinkat(r->parent_fd, r->name, AT_REMOVEDIR) < 0 && errno != ENOENT) {
		if (errno != ENOTEMPTY && errno != EEXIST)
			return -errno;
		again = true; /* filled since */
	}
	if (!again)
		return 1;
	r->progress = false;
	rewinddir(r->top);
	return 0;
}

static int step_top(struct removal *r)
{
	const struct dirent *entry = readdir(r->top);
	int result;

	if (entry == NULL)
		return end_pass(r);
	if (is_dot(entry->d_name))
		return 0;
	r->progress = true;
	result = force_remove_one(dirfd(r->top), entry->d_name);
	if (result != -ENOTEMPTY)
		return result;
	r->inner = force_open(dirfd(r->top), entry->d_name);
	if (r->inner == NULL)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
	snprintf(r->inner_name, sizeof(r->inner_name), "%s", entry->d_name);
	return 0;
}

int removal_step(struct removal *r)
{
	if (r->steps++ > STEPS_MAX)
		return -EBUSY;
	return r->inner != NULL ? step_inner(r) : step_top(r);
}
