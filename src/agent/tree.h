/* SPDX-License-Identifier: MIT */
/*
 * All processes below the agent: reaping them, ending them, and what they cost.
 *
 * As PID 1 the agent inherits every orphan of the sandbox and one kill(-1) reaches them all.
 * Elsewhere it is a child subreaper: it inherits the orphans too, and kills its own children
 * until it has none. Its own children alone: their pids cannot be reused before it reaps them,
 * and killing a process makes its children the agent's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct agent_tree {
	pid_t program;	    /* whose status is kept; 0: none */
	bool program_ended; /* and reaped: program_status and program_cpu_us are set */
	int program_status; /* as wait4() gives it */
	uint64_t program_cpu_us;
	uint32_t killed; /* by agent_tree_end(), the program not counted */
	/* Of all that were reaped since agent_tree_init(). */
	uint64_t user_us, system_us, max_rss_bytes, read_bytes, write_bytes;
};

/* Once: inherit orphans also where the agent is not PID 1. */
void agent_tree_adopt(void);

/* Account for a new program from here. */
void agent_tree_init(struct agent_tree *t, pid_t program);

/* Reap who has died, without waiting. */
void agent_tree_reap(struct agent_tree *t);

/* Kill everything below the agent and wait until nothing is left. */
void agent_tree_end(struct agent_tree *t);
