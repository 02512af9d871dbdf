/* SPDX-License-Identifier: MIT */
#include "mcp/http_endpoint.h"

#include "mcp/http_answer.h"
#include "mcp/http_guard.h"
#include "mcp/http_headers.h"
#include "mcp/http_session.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <string.h>

#define BUSY_MAX 1024u /* calls under way; of the older era also without a client */

/* ---- the head ---- */

static bool refuse(struct http_conn *conn, int status, const char *why)
{
	http_answer_refuse(conn, status, why);
	return false;
}

static bool has_modern_header(const struct http_head *head)
{
	const char *revision = http_head_find(head, "MCP-Protocol-Version");

	return revision != NULL && mcp_revision_is_modern(revision);
}

/* Pages of the origins that the options name may read what we answer. */
static void allow_origin(struct http_conn *conn)
{
	const char *origin = http_head_find(conn->head, "Origin");

	if (origin == NULL || !http_guard_is_listed(conn->server, origin))
		return;
	http_conn_add_field(conn, "Access-Control-Allow-Origin", origin);
	http_conn_add_field(conn, "Access-Control-Expose-Headers", "Mcp-Session-Id");
	http_conn_add_field(conn, "Vary", "Origin");
}

/* A browser asks first whether such a page may send what it wants to send; without a token. */
static bool answer_preflight(struct http_conn *conn)
{
	const char *origin = http_head_find(conn->head, "Origin");
	const char *wanted = http_head_find(conn->head, "Access-Control-Request-Headers");

	if (conn->head->method != HTTP_OPTIONS || origin == NULL ||
	    !http_guard_is_listed(conn->server, origin))
		return false;
	http_conn_add_field(conn, "Access-Control-Allow-Methods", "GET, POST, DELETE");
	if (wanted != NULL)
		http_conn_add_field(conn, "Access-Control-Allow-Headers", wanted);
	http_conn_reply(conn, 204, NULL, NULL, 0);
	return true;
}

static bool refuse_token(struct http_conn *conn)
{
	bool tried = http_head_find(conn->head, "Authorization") != NULL;

	http_conn_add_field(conn, "WWW-Authenticate",
			    tried ? "Bearer error=\"invalid_token\"" : "Bearer");
	return refuse(conn, 401,
		      tried ? "the bearer token is not the one of this server"
			    : "this server wants a bearer token");
}

static bool refuse_method(struct http_conn *conn)
{
	bool modern = has_modern_header(conn->head);

	http_conn_add_field(conn, "Allow", modern ? "POST" : "GET, POST, DELETE");
	return refuse(conn, 405,
		      modern ? "this revision of MCP has POST alone"
			     : "the endpoint takes POST, GET and DELETE");
}

static bool is_method_allowed(const struct http_head *head)
{
	if (head->method == HTTP_POST)
		return true;
	return (head->method == HTTP_GET || head->method == HTTP_DELETE) &&
	       !has_modern_header(head);
}

bool http_endpoint_head(struct http_conn *conn)
{
	struct http_server *server = conn->server;
	const struct http_head *head = conn->head;

	if (!http_guard_host(server, head))
		return refuse(conn, 403, "the Host header names no host of this server");
	if (!http_guard_origin(server, head))
		return refuse(conn, 403, "pages of this Origin may not use this server");
	allow_origin(conn);
	if (strcmp(head->path, server->path) != 0)
		return refuse(conn, 404,
			      "there is nothing here; see the server's start for its URL");
	if (answer_preflight(conn))
		return false;
	if (!http_guard_token(server, head))
		return refuse_token(conn);
	if (!is_method_allowed(head))
		return refuse_method(conn);
	if (server->draining)
		return refuse(conn, 503, "the server is shutting down");
	if (head->method == HTTP_POST && !http_head_is_type(head, "application/json"))
		return refuse(conn, 415, "the Content-Type of a POST must be application/json");
	return true;
}

/* ---- sessions of the older era ---- */

/* The session that a request names, or NULL: then it has been answered. */
static struct http_session *find_session(struct http_conn *conn)
{
	const char *id = http_head_find(conn->head, "Mcp-Session-Id");
	struct http_session *session;

	if (id == NULL) {
		refuse(conn, 400, "header Mcp-Session-Id is missing: send initialize first");
		return NULL;
	}
	session = http_session_find(conn->server, id);
	if (session == NULL)
		refuse(conn, 404,
		       "there is no such session: it ended, or never was; initialize again");
	return session;
}

static bool has_known_revision(struct http_conn *conn)
{
	const char *revision = http_head_find(conn->head, "MCP-Protocol-Version");

	if (revision == NULL || mcp_revision_known(revision))
		return true;
	return refuse(conn, 400, "this server does not know the revision in MCP-Protocol-Version");
}

static void end_session(struct http_conn *conn)
{
	struct http_session *session = has_known_revision(conn) ? find_session(conn) : NULL;

	if (session == NULL)
		return;
	http_session_free(session);
	http_conn_reply(conn, 204, NULL, NULL, 0);
}

/* ---- GET: what belongs to no request, and streams that broke ---- */

static bool parse_event_id(const char *text, unsigned int *ret_stream, unsigned int *ret_event)
{
	int len = 0;

	if (strspn(text, "0123456789-") != strlen(text) || strlen(text) > 20)
		return false;
	return sscanf(text, "%u-%u%n", ret_stream, ret_event, &len) == 2 && text[len] == '\0';
}

static void resume(struct http_conn *conn, struct http_session *session, const char *last)
{
	struct http_stream *stream = NULL;
	unsigned int number, event;

	if (parse_event_id(last, &number, &event))
		stream = number == 0 ? http_stream_unsolicited(session)
				     : http_stream_find(session, number);
	if (stream == NULL)
		refuse(conn, 400, "Last-Event-ID names no stream that this session still has");
	else
		http_stream_resume(stream, conn, event);
}

static void open_unsolicited(struct http_conn *conn, struct http_session *session)
{
	struct http_stream *stream = http_stream_unsolicited(session);

	if (stream == NULL)
		refuse(conn, 503, "the server has no room for a stream now");
	else
		http_stream_resume(stream, conn, stream->sent);
}

static void take_get(struct http_conn *conn)
{
	const char *last = http_head_find(conn->head, "Last-Event-ID");
	struct http_session *session;

	if (!http_head_accepts(conn->head, "text/event-stream")) {
		refuse(conn, 406, "a GET must accept text/event-stream");
		return;
	}
	session = has_known_revision(conn) ? find_session(conn) : NULL;
	if (session == NULL)
		return;
	if (last != NULL && *last != '\0')
		resume(conn, session, last);
	else
		open_unsolicited(conn, session);
}

/* ---- POST ---- */

static void take_modern(struct http_conn *conn, const json_t *message)
{
	struct http_stream *stream;
	char why[256];

	if (!http_head_accepts(conn->head, "application/json") &&
	    !http_head_accepts(conn->head, "text/event-stream")) {
		refuse(conn, 406, "a POST must accept application/json and text/event-stream");
		return;
	}
	if (!http_headers_match(conn->server->mcp, conn->head, message, why, sizeof(why))) {
		http_answer_error(conn, 400, json_object_get(message, "id"), MCP_HEADER_MISMATCH,
				  why);
		return;
	}
	stream = http_stream_new(conn, NULL);
	if (stream == NULL) {
		refuse(conn, 503, "the server has no room for a request now");
		return;
	}
	http_stream_receive(stream, message);
}

static bool is_initialize(const json_t *message)
{
	const char *method = json_string_value(json_object_get(message, "method"));

	return method != NULL && strcmp(method, "initialize") == 0;
}

/* The session a POST belongs to, which may begin with it; NULL: it has been answered. */
static struct http_session *session_of_post(struct http_conn *conn, const json_t *message,
					    bool *ret_opens)
{
	struct http_session *session;

	*ret_opens = is_initialize(message) && http_head_find(conn->head, "Mcp-Session-Id") == NULL;
	if (!*ret_opens)
		return has_known_revision(conn) ? find_session(conn) : NULL;
	session = http_session_new(conn->server);
	if (session == NULL)
		refuse(conn, 503, "the server has as many sessions as it takes: try again later");
	return session;
}

static void take_legacy(struct http_conn *conn, const json_t *message)
{
	struct http_session *session;
	struct http_stream *stream;
	bool opens;

	if (!http_head_accepts(conn->head, "application/json") ||
	    !http_head_accepts(conn->head, "text/event-stream")) {
		refuse(conn, 406, "a POST must accept application/json and text/event-stream");
		return;
	}
	session = session_of_post(conn, message, &opens);
	if (session == NULL)
		return;
	if (session->live_count >= HTTP_SESSION_STREAMS) {
		refuse(conn, 429, "the session has as many requests under way as it may have");
		return;
	}
	stream = http_stream_new(conn, session);
	if (stream == NULL) {
		refuse(conn, 503, "the server has no room for a request now");
		return;
	}
	stream->opens_session = opens;
	http_stream_receive(stream, message);
}

/* The caller owns the result; NULL: it has been answered. */
static json_t *parse_body(struct http_conn *conn)
{
	struct evbuffer *body = conn->body.data;
	size_t len = evbuffer_get_length(body);
	const char *text = (const char *)evbuffer_pullup(body, -1);
	char why[200] = "";
	json_t *message = mcp_parse(text ? text : "", text ? len : 0, why, sizeof(why));

	if (message == NULL)
		http_answer_error(conn, 400, NULL, MCP_PARSE_ERROR, why);
	return message;
}

static void take_post(struct http_conn *conn)
{
	json_t *message = parse_body(conn);

	if (message == NULL)
		return;
	if (mcp_server_busy(conn->server->mcp) >= BUSY_MAX)
		refuse(conn, 503, "the server has as many calls under way as it takes");
	else if (has_modern_header(conn->head) || http_headers_body_revision(message) != NULL)
		take_modern(conn, message);
	else
		take_legacy(conn, message);
	json_decref(message);
}

void http_endpoint_request(struct http_conn *conn)
{
	if (conn->head->method == HTTP_POST)
		take_post(conn);
	else if (conn->head->method == HTTP_GET)
		take_get(conn);
	else
		end_session(conn);
}
