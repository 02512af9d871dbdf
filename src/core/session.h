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
	uint64_t create_ns; /* told in the first result */
	unsigned int caches; /* bit n: the warm cache of language n is shown inside */
	bool broken;	    /* the stream cannot be used any more */
};

/* Where the compiler's files go: /tmp where the sandbox has one of its own. */
const char *sbx_session_scratch(const struct sbx_session *session);
