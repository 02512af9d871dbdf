/* SPDX-License-Identifier: MIT */
/*
 * All processes below the agent: reaping them, ending them, and what they cost.
 *
 * As PID 1 the agent inherits every orphan of the sandbox and one kill(-1) reaches them all.
 * Elsewhere it is a child subreaper: it inherits the orphans too, and kills its own children
 * until it has none. Its own children alone: their pids cannot be reused before it reaps them,
 * and killing a process makes its children the agent's.
 *
 * A program in the background has a supervisor (supervisor.h) that inherits its orphans in the
 * agent's stead, so that the end of one program can leave the others alone: what is below a
 * supervisor belongs to its program, all else to the one in the foreground. Where programs can
 * kill a supervisor, what was below it goes with the foreground, or at once when none runs there.
 */
#pragma once

#include "wire/message.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* The supervisors that are alive; 0: a free place. */
struct agent_supervisors {
	pid_t pids[WIRE_BACKGROUND_MAX];
	bool front; /* a program runs in the foreground */
};

/* What processes cost. */
struct agent_cost {
	uint64_t user_us, system_us, max_rss_bytes, read_bytes, write_bytes;
};

struct agent_tree {
	struct agent_supervisors *supervisors; /* the agent's */
	pid_t supervisor;   /* of a background program: its own; 0: none */
	pid_t program;	    /* whose status is kept; 0: none */
	bool program_ended; /* and reaped: program_status and program_cpu_us are set */
	int program_status; /* as wait4() gives it */
	uint64_t program_cpu_us;
	uint32_t killed; /* by agent_tree_end(), the program not counted */
	struct agent_cost cost; /* of all that were reaped since agent_tree_init() */
};

/* Once: inherit orphans also where the agent is not PID 1. */
void agent_tree_adopt(void);

/* Account for a new program from here. */
void agent_tree_init(struct agent_tree *t, struct agent_supervisors *supervisors, pid_t program);

/* Reap who has died, without waiting. */
void agent_tree_reap(struct agent_tree *t);

/*
 * Kill all that belongs to the program and wait until nothing of it is left. Of a background
 * program that is its supervisor too.
 */
void agent_tree_end(struct agent_tree *t);

/* Kill everything below the agent and wait until nothing is left. */
void agent_tree_end_all(struct agent_tree *t);

/* Add what wait4() said of one process. */
void agent_cost_add(struct agent_cost *cost, const struct rusage *usage);

uint64_t agent_cpu_us(const struct rusage *usage);
