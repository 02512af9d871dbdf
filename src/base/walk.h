/* SPDX-License-Identifier: MIT */
/*
 * A walk over what is in a folder and, if wanted, over all that is below it, a folder before what
 * is in it. One folder is open at a time and one number kept for each level above it: no tree,
 * however deep, costs more than the longest path. Links are not followed, also those that a
 * program puts in a folder's place meanwhile; what disappears meanwhile is passed over.
 *
 * /proc is not entered: whoever walks would show what the kernel tells it alone.
 */
#pragma once

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* A folder above the present one. */
struct sbx_walk_level {
	long at;       /* where to go on in it */
	size_t length; /* of its path */
};

struct sbx_walk {
	int root_fd; /* owned */
	bool deep;
	DIR *dir;
	char path[PATH_MAX]; /* of the present entry, below the root */
	size_t folder_len;   /* of the present folder's path */
	struct sbx_walk_level *levels;
	size_t depth, capacity;
};

/* Takes root_fd, a folder opened for reading, in any case. 0 or -errno. */
int sbx_walk_begin(struct sbx_walk *w, int root_fd, bool deep);
void sbx_walk_done(struct sbx_walk *w);

/*
 * The next entry: 1 with its path and *ret, 0 at the end, -ENAMETOOLONG when the tree is
 * deeper than a path is long. *ret_closed: a folder that cannot be read.
 */
int sbx_walk_next(struct sbx_walk *w, struct stat *ret, bool *ret_closed);

/* Open the present entry for reading, or -errno. */
int sbx_walk_open(struct sbx_walk *w);

/* Whether a descriptor is of a file of /proc. */
bool sbx_is_on_proc(int fd);
