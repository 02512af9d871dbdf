/* SPDX-License-Identifier: MIT */
/*
 * A process of the agent's own between it and a background program. As a child subreaper it
 * inherits what the program leaves behind, so that the agent can tell whose a process is. It
 * starts the program, tells how that went and how it ended, and then waits to be killed; it keeps
 * no descriptor but the pipe to the agent, whose end means that somebody has killed it.
 */
#pragma once

#include "agent/spawn.h"
#include "agent/tree.h"

#include <stdbool.h>

struct supervisor {
	pid_t pid;
	int fd; /* what it tells; or -1: none, or it has told all */
};

/* Start a program below a new supervisor, and begin its tree. */
int supervisor_start(struct supervisor *ret, const struct agent_spawn *s,
		     struct agent_supervisors *all, struct agent_tree *tree, struct sbx_error *err);

/* Its pipe is readable: the program has ended, or the supervisor has; the tree knows how. */
void supervisor_read(struct supervisor *s, struct agent_tree *tree);

void supervisor_done(struct supervisor *s);
