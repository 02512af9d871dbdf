/* SPDX-License-Identifier: MIT */
/*
 * What runs between clone3() and the exec of the agent, in a copy of a perhaps threaded program:
 * raw system calls over data that is ready, no allocation, no lock, no stdio.
 *
 * The child is born as early as can be and makes its network, the slowest of its namespaces,
 * while the parent still takes a slot and writes the plan; it builds the plan while the parent
 * makes the cgroup. Two notes through the handover tell it how far the parent is.
 */
#pragma once

#include "backend/native/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Known at birth. */
struct child_orders {
	const struct plan *plan; /* to be read once CHILD_BUILD is there */
	int stream_fd;		 /* becomes 3, the agent's door */
	int handover_fd;	 /* the notes come from here; its end: give up */
	int status_fd;		 /* struct child_failure goes here */
};

/*
 * The first note: ids are mapped and the plan is written; build it. With it come the slot's lock
 * (which becomes 4: the sandbox's ids stay taken while the agent lives), the agent's program,
 * and the mounts that the parent took.
 */
struct child_build {
	uint64_t taken;	  /* bit n: the descriptor of mount n follows */
	bool become_root; /* ids 0 are mapped: take them; else keep CAP_SETPCAP for the agent */
};

/* The second note: enter the groups whose `tasks` come with it, and become the agent. */
struct child_start {
	uint8_t go;
};

/* Where the child failed: a step of the plan, or one of these. */
enum child_stage {
	CHILD_NETWORK = -1,
	CHILD_LOOPBACK = -2,
	CHILD_USER = -3,
	CHILD_CGROUP = -4,
	CHILD_EXEC = -5,
};

struct child_failure {
	int32_t step; /* its number, or enum child_stage */
	int32_t sys_errno;
};

_Noreturn void child_main(const struct child_orders *orders);
