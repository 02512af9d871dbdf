/* SPDX-License-Identifier: MIT */
/*
 * What runs between clone3() and the exec of the agent, in a copy of a perhaps threaded program:
 * raw system calls over data that is ready, no allocation, no lock, no stdio.
 */
#pragma once

#include "backend/native/cgroup.h"
#include "backend/native/plan.h"

#include <stdint.h>

struct child_orders {
	const struct plan *plan;
	const int *mount_fds; /* per mount: taken by the parent, or -1 */
	int stream_fd;	      /* becomes 3, the agent's door */
	int lock_fd;	      /* becomes 4: the sandbox's ids stay taken while the agent lives */
	int agent_fd;	      /* the agent's program */
	int go_fd;	      /* one byte: ids are mapped; end of file: give up */
	int status_fd;	      /* struct child_failure goes here */
	const int *task_fds;  /* CGROUP_CONTROLLERS of them: the groups to enter, or -1 */
	bool become_root;     /* ids 0 are mapped: take them; else keep CAP_SETPCAP for the agent */
};

/* Which step failed with which errno; step == count of steps: the exec; more: the cgroup. */
struct child_failure {
	uint32_t step;
	int32_t sys_errno;
};

_Noreturn void child_main(const struct child_orders *orders);
