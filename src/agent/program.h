/* SPDX-License-Identifier: MIT */
/*
 * A program, from EXEC to EXIT: one at a time in the foreground, several in the background.
 *
 * It is running until its first process has ended; then everything it left behind is killed and
 * reaped, what is still in its pipes is read, and when the host has taken that, EXIT is sent.
 */
#pragma once

#include "agent/control.h"
#include "agent/fence.h"
#include "agent/input.h"
#include "agent/output.h"
#include "agent/supervisor.h"
#include "agent/tree.h"
#include "agent/usage.h"
#include "wire/conn.h"
#include "wire/message.h"

#include <poll.h>
#include <stdbool.h>

struct program {
	uint32_t channel; /* 0: none */
	bool has_control;
	bool over;	  /* the first process has ended, and the tree with it */
	enum wire_reason reason;
	uint64_t cpu_ms;
	uint64_t start_ns, deadline_ns, end_ns;
	struct agent_tree tree;
	struct supervisor supervisor; /* of one in the background; its fd is -1 else */
	struct input input;
	struct output outputs[2];
	struct control control; /* of one that has it; its fd is -1 else */
	struct usage *usage;	/* the sandbox's */
};

#define PROGRAM_POLLFDS 5

/* Start one; what goes wrong is told to the host on its channel. */
void program_start(struct program *p, struct sbx_conn *conn, uint32_t channel,
		   const struct wire_exec *exec, const struct agent_fence *fence,
		   struct agent_supervisors *supervisors);

/* A message for its channel; -code when the host broke the protocol. */
int program_take(struct program *p, const struct wire_frame *frame, struct sbx_error *err);

/* What to wait for. */
void program_poll(const struct program *p, const struct sbx_conn *conn,
		  struct pollfd fds[PROGRAM_POLLFDS]);

/* Move bytes, heed the deadline, notice the end. */
void program_pump(struct program *p, struct sbx_conn *conn);

/* The one in the foreground: reap what has ended, also when none runs. */
void program_reap(struct program *p);
