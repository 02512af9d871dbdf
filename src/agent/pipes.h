/* SPDX-License-Identifier: MIT */
/*
 * The pipes between the agent and a program, and the control socket of one that has it: its ends
 * for the spawn, ours without blocking.
 *
 * They belong to the program's user: /dev/stdout leads to /proc/self/fd/1, and opening that asks
 * the pipe's owner and mode as if it were a file.
 */
#pragma once

#include "agent/fence.h"
#include "agent/spawn.h"

#include <stdbool.h>

struct agent_pipes {
	int theirs[AGENT_PROGRAM_FDS]; /* 0, 1, 2 of the program, and 3 or -1 */
	int ours[AGENT_PROGRAM_FDS];   /* ours[0] is -1 where its stdin is /dev/null */
};

/* What the flags of an EXEC ask for: 0, or -errno with nothing open. */
int agent_pipes_open(struct agent_pipes *ret, uint32_t flags, const struct agent_fence *fence);

void agent_pipes_close_theirs(struct agent_pipes *p);
void agent_pipes_close_ours(struct agent_pipes *p);
