/* SPDX-License-Identifier: MIT */
/*
 * Between the protocol (server.c and what stands behind it) and a transport (stdio.c, http*.c).
 * Everything here is called on the loop's thread.
 *
 * A transport makes a session per client: for stdio one, for HTTP one per Mcp-Session-Id in the
 * older era and one for each request in the newer. It gives every message that comes in to
 * mcp_session_receive() with a stream on which the answers to this message go.
 */
#pragma once

#include "mcp/mcp.h"

#include <event2/event.h>

struct mcp_session;
struct mcp_request;

/*
 * Where answers go; a transport embeds it in its own struct. send() is called with what is said
 * on the way (notifications, questions to the client) and finish() exactly once with the
 * response, or with NULL when there is none (all was notifications); after it the stream is the
 * transport's alone again. status is the HTTP status for it. The messages are borrowed. Neither
 * may call back into the core before it returns, nor free a session: lists are being walked.
 */
struct mcp_stream {
	void (*send)(struct mcp_stream *stream, const json_t *message);
	void (*finish)(struct mcp_stream *stream, const json_t *response, int status);
	struct mcp_request *request; /* the core's; NULL: nothing is under way … */
	struct mcp_batch *batch;     /* … but for a batch, whose messages have streams of their own */
};

/* Which eras a session may speak. */
enum mcp_session_kind {
	MCP_SESSION_STDIO,  /* either, as the first message says */
	MCP_SESSION_LEGACY, /* initialize first */
	MCP_SESSION_MODERN, /* every request for itself */
};

/*
 * unsolicited: where what belongs to no request goes (a GET stream, stdout); may be NULL, may
 * change. It is never finished.
 */
struct mcp_session *mcp_session_new(struct mcp_server *server, enum mcp_session_kind kind);
void mcp_session_set_unsolicited(struct mcp_session *session, struct mcp_stream *unsolicited);

/* Nothing more comes in: what waits for an answer of the client goes on without, now and later. */
void mcp_ask_give_up(struct mcp_session *session);

/* Cancels all that is under way; no stream of it is touched any more. */
void mcp_session_free(struct mcp_session *session);

/*
 * Act on one message (an object; or, in the revisions that have batches, an array). message is
 * borrowed. The stream may be finished before this returns.
 */
void mcp_session_receive(struct mcp_session *session, const json_t *message,
			 struct mcp_stream *stream);

/* What could not be parsed gets an answer too: {-32700, reason}. */
void mcp_session_refuse(struct mcp_session *session, int code, const char *reason,
			struct mcp_stream *stream);

/*
 * The client of this stream is gone. In the newer era that cancels the request; in the older the
 * call goes on without a stream, and what it says goes to `later` if that is not NULL.
 */
void mcp_stream_gone(struct mcp_stream *stream, struct mcp_stream *later);

/* Cancel what runs on this stream, whatever the era; it is not touched any more. */
void mcp_stream_cancel(struct mcp_stream *stream);

/* The revision agreed upon, or NULL before initialize. */
const char *mcp_session_revision(const struct mcp_session *session);

/* Whether the server knows this revision, and whether it is of the newer era. */
bool mcp_revision_known(const char *revision);
bool mcp_revision_is_modern(const char *revision);

/* For the headers that mirror the body: the row of a tool, or NULL. */
const struct mcp_tool *mcp_server_find_tool(const struct mcp_server *server, const char *name);

/* {"jsonrpc": "2.0", "id": id (if there is one), "error": {…}}; takes data, which may be NULL. */
json_t *mcp_error_response(const json_t *id, int code, const char *message, json_t *data);

/* ---- the loop ---- */

struct event_base *mcp_server_loop(const struct mcp_server *server);

/* Calls under way, for a drain. */
size_t mcp_server_busy(const struct mcp_server *server);

/*
 * Call function each time the last call under way has ended, with an answer or, cancelled,
 * without one. One function at a time; NULL ends it.
 */
void mcp_server_on_idle(struct mcp_server *server, void (*function)(void *userdata),
			void *userdata);

/* End every subscription with its result, as a server that leaves does. */
void mcp_server_end_listens(struct mcp_server *server);

/* Parse text strictly (UTF-8, depth, one value); NULL with the reason in ret_why. */
json_t *mcp_parse(const char *text, size_t len, char *ret_why, size_t size);

/* A message as one line of text, without its end; the caller frees it. NULL: no memory. */
char *mcp_format(const json_t *message);

/* 128 random bits in hex, which nobody guesses: the name of a session or a task. */
#define MCP_ID_SIZE 33
bool mcp_make_id(char ret[MCP_ID_SIZE]);

/* Codes of JSON-RPC and MCP. */
enum mcp_code {
	MCP_PARSE_ERROR = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_METHOD_NOT_FOUND = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL_ERROR = -32603,
	MCP_RESOURCE_NOT_FOUND = -32002,
	MCP_HEADER_MISMATCH = -32020,
	MCP_MISSING_CAPABILITY = -32021,
	MCP_UNSUPPORTED_REVISION = -32022,
};
