/* SPDX-License-Identifier: MIT */
/* What all parts of the HTTP transport share. One thread, no locks. */
#pragma once

#include "mcp/http_address.h"
#include "mcp/transport.h"

#include <openssl/ssl.h>

#include <sys/queue.h>

#define HTTP_BODY_MAX	     (16u << 20) /* unless the options say otherwise */
#define HTTP_CONNECTIONS_MAX 1024u
#define HTTP_DRAIN_MS	     10000u
#define HTTP_BODIES_MAX	     16u /* times body_max: of all connections together */
#define HTTP_SESSIONS_MAX    1024u
#define HTTP_SESSION_STREAMS 256u	 /* calls of one session that are under way */
#define HTTP_REPLAY_MAX	     (32u << 20) /* bytes that are kept for ended streams */

/* How long things may take; the tests make them short. */
struct http_times {
	unsigned int head_ms;	 /* from the first byte of a head to its last; TLS too */
	unsigned int body_ms;	 /* for a whole body */
	unsigned int idle_ms;	 /* between two requests of a connection */
	unsigned int write_ms;	 /* a client that reads nothing */
	unsigned int linger_ms;	 /* for the client to read the last answer and go */
	unsigned int stream_ms;	 /* a call without output becomes an event stream, so that */
	unsigned int alive_ms;	 /* these comments tell everybody on the way that it lives */
	unsigned int session_ms; /* sessions that are not used end */
	unsigned int replay_ms;	 /* an ended stream can be read again */
	unsigned int retry_ms;	 /* when a client comes back to a stream that broke */
};

extern const struct http_times http_default_times;

struct http_conn;
struct http_session;
struct http_stream;

struct http_server {
	struct mcp_server *mcp;
	const struct mcp_http_options *options;
	struct http_times times;
	struct http_address address;
	struct event_base *base;
	SSL_CTX *tls; /* NULL: plain */
	const char *path;
	size_t body_max;
	unsigned int connections_max, drain_ms;
	struct evconnlistener *listener;
	struct event *signals[2], *housekeeper, *accept_again, *drain_timer;
	uint64_t drain_deadline_ns; /* while draining */
	bool draining, leaving;

	TAILQ_HEAD(http_conns, http_conn) conns;
	unsigned int conn_count;
	size_t body_bytes; /* of unfinished bodies */

	TAILQ_HEAD(http_session_list, http_session) sessions; /* last used first */
	unsigned int session_count;
	TAILQ_HEAD(http_stream_list, http_stream) ended; /* can be read again; oldest first */
	size_t replay_bytes;
	struct http_stream_list fresh; /* of the newer era, with a client */

	/* What a callback of the core must not free while the core is on the stack. */
	struct event *reaper;
	struct http_stream_list dead_streams;
	struct http_session_list dead_sessions;
};

/* mcp_serve_http() with other times than the usual ones. */
int http_serve(struct mcp_server *mcp, const struct mcp_http_options *options,
	       const struct http_times *times, struct sbx_error *err);

static inline struct timeval http_timeval(unsigned int ms)
{
	return (struct timeval){.tv_sec = ms / 1000, .tv_usec = (int)(ms % 1000) * 1000};
}
