/* SPDX-License-Identifier: MIT */
/*
 * What keeps a program in, inside the sandbox: the part that needs no privilege on the host and
 * is therefore the same in every backend.
 *
 * agent_fence_up() runs once, at SETUP, and puts the agent itself behind what a whole process
 * tree can share: no_new_privs, an empty bounding set, the seccomp filter, and no capability
 * but those it needs to become the sandbox's user and to end its processes. child_fence() runs
 * in every child between fork and exec and takes the rest away: rlimits, user, groups, every
 * capability, writing outside the writable folders (Landlock).
 */
#pragma once

#include "wire/message.h"

#include <stdbool.h>

struct agent_fence {
	const struct wire_setup *setup; /* outlives this */
	int landlock_fd;		/* the ruleset that children enter, or -1 */
	bool switch_user;		/* the agent may become setup->uid and gid */
};

/*
 * Put up what setup->fences asks for and say in *ready how each went (0 or an errno). A fence
 * that the kernel lacks is reported there and is no failure; returns -errno only when the agent
 * is left in a state that it cannot go on from.
 */
int agent_fence_up(struct agent_fence *f, const struct wire_setup *setup, struct wire_ready *ready);

/*
 * In the child, after its descriptors are in place: 0, or -errno with *ret_step = what could not
 * be done, as in "cannot %s".
 * A fence that READY reported as up never fails open: then this fails.
 */
int child_fence(const struct agent_fence *f, const char **ret_step);
