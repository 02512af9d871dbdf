/* SPDX-License-Identifier: MIT */
/* The inside of a session, for core alone; users see llmsandbox/session.h. */
#pragma once

#include "backend/backend.h"
#include "wire/conn.h"

#include <llmsandbox/session.h>

#include <pthread.h>

struct sbx_session {
	pthread_mutex_t lock; /* one operation at a time */
	const struct sbx_spec *spec;
	struct sbx_place *place;
	struct sbx_conn conn;
	struct wire_setup setup;
	struct sbx_report report;
	uint32_t next_channel;
	unsigned int runs;
	uint64_t opened_ns;  /* when, by the clock */
	uint64_t create_ns;  /* until the agent was ready; told in the first result */
	uint64_t greeting_ns; /* of them, spent waiting within an operation */
	bool greeted;	      /* the agent is ready, and the report has its fences */
	unsigned int caches; /* bit n: the warm cache of language n is shown inside */
	bool broken;	    /* the stream cannot be used any more */
};

/*
 * Wait until the agent is ready, or fail with the reason why it never will be. Whoever is about
 * to read from the stream calls it; what is to be sent can be queued before, so that the first
 * program starts as soon as there is somebody to start it.
 */
int sbx_session_greet(struct sbx_session *session, struct sbx_error *err);

/*
 * Take the session's turn, for whatever speaks over its stream: waits for the operation before,
 * and fails when the session is over. sbx_session_end() gives it back; r and err are what the
 * operation came to, because after a broken protocol the session is over.
 */
int sbx_session_begin(struct sbx_session *session, struct sbx_error *err);
void sbx_session_end(struct sbx_session *session, int r, const struct sbx_error *err);

/* Where the compiler's files go: /tmp where the sandbox has one of its own. */
const char *sbx_session_scratch(const struct sbx_session *session);
