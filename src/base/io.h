/* SPDX-License-Identifier: MIT */
/* Reads and writes that do not stop half way, and small files in one call. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Write all of it or return -errno; blocks on a full pipe, also when fd does not. */
int sbx_write_all(int fd, const void *data, size_t len);

/* Read until len bytes or the end of file: the count, or -errno. */
ssize_t sbx_read_full(int fd, void *data, size_t len);

/* Set or clear O_NONBLOCK; 0 or -errno. */
int sbx_set_nonblock(int fd, bool on);

/*
 * Read a whole regular file of at most max bytes; the caller owns *ret, which is followed by a
 * NUL that *ret_len does not count. Follows no symbolic link in the last component.
 */
int sbx_read_file(int dirfd, const char *path, size_t max, char **ret, size_t *ret_len,
		  struct sbx_error *err);

/* Read what fd gives until its end, at most max bytes: for pipes and /proc. As above. */
int sbx_read_stream(int fd, const char *name, size_t max, char **ret, size_t *ret_len,
		    struct sbx_error *err);

/*
 * Remove a folder with all that is in it, as far as that goes: links are removed and not
 * followed, and nothing is entered in which something is mounted.
 */
void sbx_remove_tree(const char *path);

/* Write text to an existing control file (cgroup, /proc) in one write(); 0 or -errno. */
int sbx_write_control(int dirfd, const char *path, const char *text);
