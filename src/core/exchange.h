/* SPDX-License-Identifier: MIT */
/*
 * One operation's conversation with the agent: files put, programs run one after the other, with
 * the limits that the host watches, and cancelling.
 *
 *	struct sbx_exchange x;
 *	sbx_exchange_init(&x, session, io);
 *	sbx_exchange_put(&x, "/sandbox/main.py", code, len, &err);
 *	sbx_exchange_exec(&x, &exec, &exit, &err);
 *	...
 *	sbx_exchange_done(&x);
 *
 * The stream ending is no error but x.lost: what happened to the sandbox belongs in the result.
 */
#pragma once

#include "backend/backend.h"
#include "core/capture.h"
#include "core/link.h"
#include "core/program.h"

#include <llmsandbox/session.h>

/* A PUT under way. */
struct sbx_transfer {
	struct sbx_channel channel;
	bool under_way;
	const char *data;
	size_t len, at;
	size_t credit;
};

struct sbx_exchange {
	struct sbx_session *session;
	struct sbx_link *link;	 /* the session's, as is the next */
	struct sbx_place *place;
	const struct sbx_io *io;
	struct sbx_capture capture[2];
	struct sbx_transfer put;
	struct sbx_program program;
	struct sbx_error put_error;   /* the agent's refusal of a file, not told yet */
	bool put_failed;	      /* it has been told */
	struct sbx_place_usage usage; /* when it was last looked at */
	uint64_t oom_kills;	      /* when it began */
	unsigned int interrupts; /* of io->cancel, acted on so far */
	uint64_t kill_by_ns;	 /* until when the agent must have killed it; 0: not asked to */
	bool cancelled;		 /* io->cancel asked to kill */
	bool out_of_memory;	 /* the memory limit killed something */
	bool overdue;		 /* the agent did not stop the program in time; we killed it all */
	bool lost;		 /* the stream ended */
};

void sbx_exchange_init(struct sbx_exchange *x, struct sbx_session *session,
		       const struct sbx_io *io);
void sbx_exchange_done(struct sbx_exchange *x);

/* Put a file; the agent's refusal may arrive as the error of the next call. */
int sbx_exchange_put(struct sbx_exchange *x, const char *path, const void *data, size_t len,
		     struct sbx_error *err);

/* Wait until the file is in place, or fail with the agent's refusal. */
int sbx_exchange_settle(struct sbx_exchange *x, struct sbx_error *err);

/* Run a program to its end. On success either *ret is set or x->lost is. */
int sbx_exchange_exec(struct sbx_exchange *x, const struct wire_exec *exec, struct wire_exit *ret,
		      struct sbx_error *err);
