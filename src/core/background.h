/* SPDX-License-Identifier: MIT */
/*
 * A program that goes on beside a session's operations: what background processes and kernels
 * have in common. Whoever drives the link handles its frames; from its start on the session has
 * a keeper, so that somebody always does. What it has come to is guarded by the turn's lock,
 * whose condition tells of its end.
 *
 *	sbx_background_init(&b, session, &io);
 *	r = sbx_background_start(&b, &exec, err);	with the session's turn
 *	...
 *	sbx_background_done(&b);			with the turn, or when the session is over
 */
#pragma once

#include "core/capture.h"
#include "core/program.h"
#include "core/session.h"

struct sbx_background {
	struct sbx_program program; /* first: its channel's owner is both */
	struct sbx_session *session;
	sbx_channel_fn *take; /* of the program */
	struct sbx_capture capture[2];
	uint64_t oom_kills; /* of the sandbox when it began, or later when somebody counted again */
	bool out_of_memory; /* the memory limit ended it */
	bool started;	    /* the agent said so, or that it cannot be */
	atomic_ullong signals; /* to be sent: bit n for signal n */
};

/* io has its stdin, and outlives it. */
void sbx_background_init(struct sbx_background *b, struct sbx_session *session,
			 const struct sbx_io *io);

/* Wait until the agent has started it; its refusal is the error. */
int sbx_background_start(struct sbx_background *b, const struct wire_exec *exec,
			 struct sbx_cancel *cancel, struct sbx_error *err);

/* Forget it, over or not; without a start, too. */
void sbx_background_done(struct sbx_background *b);

/*
 * What its channel does with a frame and in a turn, for those who set their own after the start.
 * What takes frames must hold the turn's lock where other threads ask what has come.
 */
int sbx_background_take(struct sbx_background *b, const struct wire_frame *frame,
			struct sbx_error *err);
int sbx_background_turn(struct sbx_background *b, struct sbx_error *err);

/* Any thread: SIGKILL is for all that it started, others for its process group. */
void sbx_background_signal(struct sbx_background *b, int signo);

/* How often the memory limit has killed something of the sandbox. */
uint64_t sbx_background_oom_kills(const struct sbx_session *session);
