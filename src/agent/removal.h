/* SPDX-License-Identifier: MIT */
/*
 * Removing a folder with all below it, a step at a time. There is no way down and up again that a
 * program could bend: a folder inside a folder is moved to the top first, so two folders are open
 * at most, however deep the tree is. Links are removed and never followed.
 *
 * Called as the sandbox's user.
 */
#pragma once

#include "agent/fence.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct removal {
	int parent_fd;
	char name[NAME_MAX + 1]; /* of the folder, in its parent; "": it stays, empty */
	DIR *top;		 /* the folder */
	DIR *inner;		 /* a folder in it that is being emptied … */
	char inner_name[NAME_MAX + 1];
	bool progress;	/* something went away since the top was read from its start */
	uint64_t steps; /* so far */
};

/*
 * Begin with what path names. 0: there is more to do; 1: it is gone already, because it was a
 * file or an empty folder; -errno: nothing must be released.
 */
int removal_begin(struct removal *r, const struct agent_fence *fence, const char *path, bool deep);

/* One step: 0 when there is more to do, 1 at the end, -errno. */
int removal_step(struct removal *r);
void removal_done(struct removal *r);
