/* SPDX-License-Identifier: MIT */
/*
 * One connection: it reads a request, hands it on, writes the answer, and reads the next one.
 * It has a deadline for everything a client does, and notices at once when the client goes.
 *
 * http_endpoint_head() is called when the head is there and may answer at once, which spares us
 * the body; else http_endpoint_request() is called with the body. Whoever answers calls
 *
 *	http_conn_reply(conn, 200, "application/json", text, len);
 *
 * or, for an answer in pieces, http_conn_start(), http_conn_write() …, http_conn_end().
 * After reply and end the connection is its own again. All of them only queue, and a connection
 * is never freed inside of them.
 */
#pragma once

#include "base/buf.h"
#include "mcp/http_body.h"
#include "mcp/http_server.h"

#include <event2/bufferevent.h>

enum http_conn_state {
	HTTP_READING_HEAD,
	HTTP_READING_BODY,
	HTTP_BUSY,    /* the request is with the endpoint */
	HTTP_STARTED, /* an answer in pieces is on its way */
	HTTP_LEAVING, /* the last answer goes out; what comes in is thrown away */
	HTTP_DOOMED,  /* closed as soon as the stack allows it */
};

struct http_conn {
	struct http_server *server;
	struct bufferevent *bev;
	struct event *timer;
	enum http_conn_state state;
	struct http_head *head; /* of the request, until it is answered */
	char *head_text;
	struct http_body body;
	size_t body_bytes;     /* that the server counts for us */
	size_t scanned;	       /* of a head that is not complete */
	struct sbx_buf fields; /* of the next answer */
	bool keep_alive, chunked, shut;
	bool heard_all; /* the client has shut its end */
	/* Called when the client is gone before its answer ended. */
	void (*gone)(void *arg);
	void *gone_arg;
	TAILQ_ENTRY(http_conn) link;
};

/* Takes fd. Over the maximum of connections it is answered with 503. */
void http_conn_open(struct http_server *server, int fd);

/* Close at once; tells `gone`. Only from the top of the stack. */
void http_conn_close(struct http_conn *conn);

/* Close when nothing of it is on the stack. */
void http_conn_doom(struct http_conn *conn);

/* Close if nothing is under way on it. */
void http_conn_close_idle(struct http_conn *conn);

/* Who is told when the client goes; NULL: nobody. */
void http_conn_set_gone(struct http_conn *conn, void (*gone)(void *arg), void *arg);

/* A field for the answer that comes next. value has been checked: no control characters. */
void http_conn_add_field(struct http_conn *conn, const char *name, const char *value);

/* type NULL: no body. */
void http_conn_reply(struct http_conn *conn, int status, const char *type, const void *body,
		     size_t len);

void http_conn_start(struct http_conn *conn, int status, const char *type);
void http_conn_write(struct http_conn *conn, const void *data, size_t len);
void http_conn_end(struct http_conn *conn);
