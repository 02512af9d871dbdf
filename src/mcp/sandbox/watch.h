/* SPDX-License-Identifier: MIT */
/*
 * What a client hears while a run lasts: every ten seconds that it still does, so that the
 * client's own timeout does not end it, and what the program printed so far, as log messages of
 * level "info". Only for clients that asked; then a thread beside the call tells it.
 *
 *	struct mcp_watch watch;
 *	mcp_watch_begin(&watch, call);
 *	io.on_stdout = watch.on_stdout; io.on_stderr = watch.on_stderr; io.userdata = &watch;
 *	... run ...
 *	mcp_watch_end(&watch);
 */
#pragma once

#include "base/buf.h"
#include "mcp/mcp.h"

#include <pthread.h>
#include <stdint.h>

struct mcp_watch {
	struct mcp_call *call;
	sbx_output_fn *on_stdout, *on_stderr; /* NULL: nobody wants the output */
	pthread_t thread;
	bool running; /* the thread; what follows is shared with it */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool over;
	struct sbx_buf pending[2]; /* of stdout and stderr, not told yet */
	size_t allowed;		   /* bytes that may still be told */
	uint64_t begun_ns, next_progress_ns, next_log_ns;
	uint64_t next_tell_ns;
};

/* Tell the client in its progress what goes on: of many lines, some. On the call's thread. */
void mcp_watch_tell(struct mcp_watch *watch, const char *text, size_t len);

void mcp_watch_begin(struct mcp_watch *watch, struct mcp_call *call);
void mcp_watch_end(struct mcp_watch *watch);
