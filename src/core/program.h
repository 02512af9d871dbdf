/* SPDX-License-Identifier: MIT */
/*
 * One program inside, from EXEC to EXIT, on a channel of the session's link: its output kept and
 * handed to callbacks, credit, stdin, signals. Whoever drives the link moves it; the foreground
 * of an operation and background processes are both made of it.
 */
#pragma once

#include "core/capture.h"
#include "core/control.h"
#include "core/link.h"
#include "wire/message.h"

#include <llmsandbox/session.h>

struct sbx_program {
	struct sbx_channel channel;
	struct sbx_link *link;
	const struct sbx_io *io;	/* stdin and callbacks; or NULL: none */
	struct sbx_control *control;	/* its control socket, of an EXEC with that flag; or NULL */
	struct sbx_capture *capture[2]; /* of stdout and stderr */
	bool is_over;			/* EXIT has come, or a refusal; no frame is to come */
	struct wire_exit exit;
	struct sbx_error refusal; /* it was not started, and why; else .code is SBX_OK */
	size_t stdin_at, stdin_credit;
	bool stdin_open;
	size_t consumed[2]; /* output taken and not yet granted again */
};

/* Ask the agent to start it; link, io, control and capture are set by the caller, all else is not. */
int sbx_program_start(struct sbx_program *p, const struct wire_exec *exec, struct sbx_error *err);

/* Forget it, over or not. */
void sbx_program_done(struct sbx_program *p);

/* Send what it may have of its stdin and its control socket; wait is told to look at the descriptor, and has looked. */
int sbx_program_feed(struct sbx_program *p, struct sbx_wait *wait, struct sbx_error *err);

int sbx_program_signal(struct sbx_program *p, uint32_t signo, enum wire_scope scope,
		       struct sbx_error *err);
