/* SPDX-License-Identifier: MIT */
/*
 * Starting a program as the sandbox's user behind the fences.
 *
 * The child shares the agent's memory until it executes (vfork), so it costs no page-table copy
 * and tells its failure by storing it. It is the agent's own code until then.
 */
#pragma once

#include "agent/fence.h"
#include "base/error.h"

#include <sys/types.h>

#define AGENT_PROGRAM_FDS 4

struct agent_spawn {
	const struct agent_fence *fence;
	const struct wire_exec *exec;
	int fds[AGENT_PROGRAM_FDS]; /* what becomes 0, 1, 2, 3; each is 4 or more, or -1 for no 3 */
};

/* Start it: *ret_pid is its process, its session and its process group. */
int agent_spawn(const struct agent_spawn *s, pid_t *ret_pid, struct sbx_error *err);
