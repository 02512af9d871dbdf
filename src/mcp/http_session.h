/* SPDX-License-Identifier: MIT */
/*
 * Sessions of the older era: what `initialize` begins, Mcp-Session-Id names, and DELETE or half
 * an hour of silence ends.
 */
#pragma once

#include "mcp/http_stream.h"

struct http_session {
	struct http_server *server;
	struct mcp_session *mcp;
	char id[MCP_ID_SIZE];
	uint64_t used_ns;
	unsigned int last_stream; /* number of the newest */
	unsigned int live_count;  /* streams that have not ended, but for the unsolicited one */
	struct http_stream_list streams; /* all that can be found by number, and calls' */
	struct http_stream *unsolicited; /* number 0, once there was a GET */
	bool dead;
	TAILQ_ENTRY(http_session) link;
};

/* A session that can be found from now on; NULL when there is no room. */
struct http_session *http_session_new(struct http_server *server);

/* The session of this id, which counts as used now, or NULL. */
struct http_session *http_session_find(struct http_server *server, const char *id);

/* Cancel its calls, end its streams. Only from the top of the stack. */
void http_session_free(struct http_session *session);

/* The same as soon as the stack allows it; it cannot be found any more. */
void http_session_bury(struct http_session *session);

void http_session_reap(struct http_server *server);

/* Free those to which nobody has been connected for too long. */
void http_session_expire(struct http_server *server);
