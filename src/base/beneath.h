/* SPDX-License-Identifier: MIT */
/*
 * Files below a folder, under names that somebody hostile chose: the one way in which anything is
 * made, opened, renamed or removed for a name that came out of a sandbox.
 *
 * A path is relative to the folder that a descriptor names: components of 1 to 255 bytes, none of
 * them "." or "..", no slash at an end, 4095 bytes at most; "" is the folder itself. Anything else
 * is -EINVAL. The kernel walks it (openat2(2)) without leaving the folder and without following a
 * link, wherever in the path it stands and whoever swaps it in meanwhile: -ELOOP or -ENOTDIR.
 *
 * What is written is a new file under a name of its own beside the final one, which it takes when
 * it is whole; what had the name, be it a link, a FIFO or a device, is replaced and never opened.
 *
 *	struct sbx_new_file f;
 *	int r = sbx_new_file_begin(&f, folder_fd, "a/b.txt", 0644);
 *
 *	if (r == 0)
 *		r = sbx_write_all(f.fd, data, len);
 *	if (r == 0)
 *		r = sbx_new_file_commit(&f, true);
 *	sbx_new_file_done(&f);
 *
 * All functions return -errno when they fail.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether it is such a path, "" too. */
bool sbx_beneath_is_path(const char *path);

/* Open what is there with the flags of open(2): never blocks, never makes a file. */
int sbx_beneath_open(int root_fd, const char *path, int flags);

/* Open a regular file for reading, or with O_APPEND in flags for writing; -EINVAL for others. */
int sbx_beneath_open_file(int root_fd, const char *path, int flags);

/* Open a folder as O_PATH, making what is missing of it and of its parents. */
int sbx_beneath_make_folders(int root_fd, const char *path, mode_t mode);

/* Make one folder in a folder that is there; a file or a link that has the name is -EEXIST. */
int sbx_beneath_make_folder(int root_fd, const char *path, mode_t mode);

/* Remove a file, a link or an empty folder. */
int sbx_beneath_remove(int root_fd, const char *path);

/* A file on its way to a name. */
struct sbx_new_file {
	int fd;			 /* open for writing */
	int folder_fd;		 /* where it will be */
	char name[NAME_MAX + 1]; /* how it will be called */
	char temp[32];		 /* how it is called until then; "" when there is nothing to remove */
};

/* In a folder that is there. On failure there is nothing that must be released. */
int sbx_new_file_begin(struct sbx_new_file *f, int root_fd, const char *path, mode_t mode);

/* Give it its name; where `replace` is off and something has the name, -EEXIST. */
int sbx_new_file_commit(struct sbx_new_file *f, bool replace);

/* Release it, and remove what was not committed. Once begun, or zeroed with both fds at -1. */
void sbx_new_file_done(struct sbx_new_file *f);

/*
 * What is left of the mode of a file that came out of a sandbox: the owner's bits, reading and
 * execution for others where they were; a folder stays usable for its owner. Neither set-id bits
 * nor writing by others.
 */
mode_t sbx_beneath_mode(uint32_t mode, bool is_folder);
