/* SPDX-License-Identifier: MIT */
/*
 * The pipes between the agent and a program: its ends for the spawn, ours without blocking.
 *
 * They belong to the program's user: /dev/stdout leads to /proc/self/fd/1, and opening that asks
 * the pipe's owner and mode as if it were a file.
 */
#pragma once

#include "agent/fence.h"

#include <stdbool.h>

struct agent_pipes {
	int theirs[3]; /* 0, 1, 2 of the program */
	int ours[3];   /* ours[0] is -1 where its stdin is /dev/null */
};

/* 0, or -errno with nothing open. */
int agent_pipes_open(struct agent_pipes *ret, bool with_stdin, const struct agent_fence *fence);

void agent_pipes_close_theirs(struct agent_pipes *p);
void agent_pipes_close_ours(struct agent_pipes *p);
