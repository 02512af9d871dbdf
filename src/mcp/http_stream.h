/* SPDX-License-Identifier: MIT */
/*
 * Where the answers to one POST go: JSON when the response is all there is, else an event
 * stream. In the older era an event stream outlives its connection: what is said meanwhile is
 * kept, and a GET with Last-Event-ID takes it up again. In the newer era, and before it has
 * become an event stream, it goes with its client.
 *
 * A stream frees itself when nobody can want anything of it any more.
 */
#pragma once

#include "mcp/http_conn.h"
#include "mcp/http_events.h"

struct http_stream {
	struct mcp_stream mcp; /* first: the core gives it back to us */
	struct http_server *server;
	struct http_conn *conn;	      /* NULL: nobody listens now */
	struct http_session *session; /* of the older era, whose it is */
	struct mcp_session *own;      /* of the newer era: its own */
	struct event *timer;
	bool may_json, may_events; /* what the client takes */
	bool opens_session;	   /* the answer to `initialize` */
	bool started;		   /* events flow on conn */
	bool resumable;		   /* it has a number that the client knows */
	bool unsolicited;	   /* of a GET: belongs to no request and never ends */
	bool ended, dead;
	unsigned int number;
	unsigned int sent; /* the last event that went to any connection */
	struct http_events events;
	uint64_t ended_ns;
	TAILQ_ENTRY(http_stream) link; /* of the session, or of the server's fresh or dead ones */
	TAILQ_ENTRY(http_stream) ended_link;
};

/* For a POST on conn; session NULL: of the newer era. NULL without memory. */
struct http_stream *http_stream_new(struct http_conn *conn, struct http_session *session);

/* The stream of a session's GET, made at the first one; NULL without memory. */
struct http_stream *http_stream_unsolicited(struct http_session *session);

/* Let the core act on a message; the stream may be gone afterwards. */
void http_stream_receive(struct http_stream *stream, const json_t *message);

/* Of a session; NULL when it is not known any more. */
struct http_stream *http_stream_find(const struct http_session *session, unsigned int number);

/* Go on with a stream on conn, with what came after the event of this number. */
void http_stream_resume(struct http_stream *stream, struct http_conn *conn, unsigned int after);

/* End what its connection hears; only when the core does not know the stream any more. */
void http_stream_free(struct http_stream *stream);

/* Cancel and free a stream of the newer era. Only from the top of the stack. */
void http_stream_abandon(struct http_stream *stream);

/* Free those that ended while the core was on the stack. */
void http_stream_reap(struct http_server *server);

/* Forget the ended ones that are too old or too much. */
void http_stream_expire(struct http_server *server);
