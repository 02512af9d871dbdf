/* SPDX-License-Identifier: MIT */
/*
 * All programs of a sandbox: at most one in the foreground, at whose end everything that is not
 * below a background program's supervisor is killed, and WIRE_BACKGROUND_MAX in the background.
 */
#pragma once

#include "agent/program.h"

#define PROGRAMS_MAX	 (1 + WIRE_BACKGROUND_MAX)
#define PROGRAMS_POLLFDS (PROGRAMS_MAX * PROGRAM_POLLFDS)

struct programs {
	struct program list[PROGRAMS_MAX]; /* the first is the foreground's */
	struct agent_supervisors supervisors;
};

/* usage is the sandbox's, told before each end. */
void programs_init(struct programs *p, struct usage *usage);

/* Start one; what goes wrong is told to the host on its channel. */
void programs_start(struct programs *p, struct sbx_conn *conn, uint32_t channel,
		    const struct wire_exec *exec, const struct agent_fence *fence);

/* The one that has this channel, or NULL. */
struct program *programs_find(struct programs *p, uint32_t channel);

bool programs_run_in_front(const struct programs *p);

/* What to wait for: how many of fds; and until when (0: for ever). */
size_t programs_poll(const struct programs *p, const struct sbx_conn *conn,
		     struct pollfd fds[PROGRAMS_POLLFDS]);
uint64_t programs_deadline_ns(const struct programs *p);

/* SIGCHLD came; and all that moves bytes or time. */
void programs_reap(struct programs *p);
void programs_pump(struct programs *p, struct sbx_conn *conn);

/* The sandbox is over. */
void programs_end(struct programs *p);
