/* SPDX-License-Identifier: MIT */
#include "mcp/http_stream.h"

#include "base/auto.h"
#include "base/clock.h"
#include "mcp/http_answer.h"
#include "mcp/http_session.h"

#include <stdio.h>
#include <string.h>

static void on_gone(void *arg);

static struct http_stream *from_mcp(struct mcp_stream *mcp)
{
	return (struct http_stream *)mcp;
}

static void set_timer(struct http_stream *stream, unsigned int ms)
{
	struct timeval tv = http_timeval(ms);

	event_add(stream->timer, &tv);
}

/* ---- birth and death ---- */

static void unlink_stream(struct http_stream *stream)
{
	struct http_server *server = stream->server;

	if (stream->dead)
		TAILQ_REMOVE(&server->dead_streams, stream, link);
	else if (stream->session != NULL)
		TAILQ_REMOVE(&stream->session->streams, stream, link);
	else
		TAILQ_REMOVE(&server->fresh, stream, link);
	if (stream->session == NULL)
		return;
	if (stream->unsolicited)
		stream->session->unsolicited = NULL;
	else if (!stream->ended)
		stream->session->live_count--;
	if (stream->ended && stream->resumable) {
		TAILQ_REMOVE(&server->ended, stream, ended_link);
		server->replay_bytes -= stream->events.bytes;
	}
}

/* Let go of the connection; an answer that was under way ends. */
static void detach(struct http_stream *stream)
{
	struct http_conn *conn = stream->conn;

	stream->conn = NULL;
	event_del(stream->timer);
	if (conn == NULL)
		return;
	http_conn_set_gone(conn, NULL, NULL);
	if (stream->started)
		http_conn_end(conn);
	else
		http_answer_refuse(conn, stream->server->leaving ? 503 : 404,
				   stream->server->leaving ? "the server is shutting down"
							   : "the session has ended");
	stream->started = false;
}

void http_stream_free(struct http_stream *stream)
{
	detach(stream);
	unlink_stream(stream);
	http_events_done(&stream->events);
	event_free(stream->timer);
	free(stream);
}

/* The core may be on the stack: leave it to the reaper. */
static void bury(struct http_stream *stream)
{
	struct http_server *server = stream->server;

	if (stream->session != NULL)
		TAILQ_REMOVE(&stream->session->streams, stream, link);
	else
		TAILQ_REMOVE(&server->fresh, stream, link);
	stream->session = NULL;
	stream->dead = true;
	TAILQ_INSERT_TAIL(&server->dead_streams, stream, link);
	event_active(server->reaper, 0, 0);
}

/* ---- events ---- */

static bool is_primed(const struct http_session *session)
{
	const char *revision = mcp_session_revision(session->mcp);

	/* Clients of earlier revisions stumble over an event without data. */
	return revision != NULL && strcmp(revision, "2025-11-25") >= 0;
}

/* An id before there is anything to miss, so that a client can come back from the start. */
static void send_priming(struct http_stream *stream)
{
	char text[96];
	int len = snprintf(text, sizeof(text), "id: %u-%u\nretry: %u\ndata: \n\n", stream->number,
			   stream->sent, stream->server->times.retry_ms);

	http_conn_write(stream->conn, text, (size_t)len);
}

static void start_events(struct http_stream *stream)
{
	struct http_conn *conn = stream->conn;

	http_conn_add_field(conn, "Cache-Control", "no-cache");
	http_conn_add_field(conn, "X-Accel-Buffering", "no");
	if (stream->opens_session)
		http_conn_add_field(conn, "Mcp-Session-Id", stream->session->id);
	http_conn_start(conn, 200, "text/event-stream");
	stream->started = true;
	if (stream->session != NULL && is_primed(stream->session))
		send_priming(stream);
	set_timer(stream, stream->server->times.alive_ms);
}

/* The answer to a POST becomes an event stream; in the older era it gets a number. */
static void become_events(struct http_stream *stream)
{
	if (stream->session != NULL) {
		stream->number = ++stream->session->last_stream;
		stream->resumable = true;
	}
	start_events(stream);
}

static void send_kept(struct http_stream *stream)
{
	const struct http_event *event;

	while ((event = http_events_after(&stream->events, stream->sent)) != NULL) {
		http_conn_write(stream->conn, event->text, event->len);
		stream->sent = event->number;
	}
	set_timer(stream, stream->server->times.alive_ms);
}

static void send_plain(struct http_stream *stream, const char *text)
{
	auto_free char *event = NULL;
	int len = asprintf(&event, "data: %s\n\n", text);

	if (len < 0) {
		event = NULL;
		return;
	}
	http_conn_write(stream->conn, event, (size_t)len);
	set_timer(stream, stream->server->times.alive_ms);
}

static void send_event(struct http_stream *stream, const json_t *message)
{
	auto_free char *text = mcp_format(message);

	if (text == NULL)
		return;
	if (!stream->resumable) {
		if (stream->conn != NULL)
			send_plain(stream, text);
		return;
	}
	http_events_add(&stream->events, stream->number, text);
	if (stream->conn != NULL)
		send_kept(stream);
}

/* ---- what the core calls ---- */

static void on_send(struct mcp_stream *mcp, const json_t *message)
{
	struct http_stream *stream = from_mcp(mcp);

	if (stream->conn != NULL && !stream->started && stream->may_events)
		become_events(stream);
	if (stream->started || stream->resumable)
		send_event(stream, message);
}

static void reply(struct http_stream *stream, const json_t *response, int status)
{
	struct http_conn *conn = stream->conn;

	stream->conn = NULL;
	http_conn_set_gone(conn, NULL, NULL);
	if (stream->opens_session)
		http_conn_add_field(conn, "Mcp-Session-Id", stream->session->id);
	if (response == NULL)
		http_conn_reply(conn, 202, NULL, NULL, 0);
	else
		http_answer_json(conn, status, response);
}

static void end_events(struct http_stream *stream, const json_t *response)
{
	struct http_conn *conn;

	if (response != NULL)
		send_event(stream, response);
	conn = stream->conn;
	stream->conn = NULL;
	stream->started = false;
	if (conn == NULL)
		return;
	http_conn_set_gone(conn, NULL, NULL);
	http_conn_end(conn);
}

static void keep_ended(struct http_stream *stream)
{
	struct http_server *server = stream->server;

	stream->ended_ns = sbx_now_ns();
	TAILQ_INSERT_TAIL(&server->ended, stream, ended_link);
	server->replay_bytes += stream->events.bytes;
	/* What is kept now may be too much. */
	if (server->replay_bytes > HTTP_REPLAY_MAX)
		event_active(server->reaper, 0, 0);
}

/* `initialize` that failed leaves no session behind. */
static void settle_session(struct http_stream *stream)
{
	if (!stream->opens_session || mcp_session_revision(stream->session->mcp) != NULL)
		return;
	stream->opens_session = false;
	http_session_bury(stream->session);
}

static void on_finish(struct mcp_stream *mcp, const json_t *response, int status)
{
	struct http_stream *stream = from_mcp(mcp);

	event_del(stream->timer);
	if (stream->session != NULL) {
		stream->session->live_count--;
		stream->session->used_ns = sbx_now_ns();
		settle_session(stream);
	}
	stream->ended = true;
	if (!stream->started && !stream->may_json && stream->conn != NULL && response != NULL)
		become_events(stream);
	if (stream->started || stream->resumable)
		end_events(stream, response);
	else if (stream->conn != NULL)
		reply(stream, response, status);
	event_del(stream->timer);
	if (stream->resumable)
		keep_ended(stream);
	else
		bury(stream);
}

/* ---- the client ---- */

/* Only from the top of the stack: of a connection that closes. */
static void on_gone(void *arg)
{
	struct http_stream *stream = arg;

	stream->conn = NULL;
	stream->started = false;
	event_del(stream->timer);
	if (stream->session != NULL)
		stream->session->used_ns = sbx_now_ns();
	if (stream->resumable)
		return;
	if (stream->session == NULL) {
		http_stream_abandon(stream);
		return;
	}
	/* Nobody knows its number: the call goes on, its answer has nowhere to go. */
	mcp_stream_gone(&stream->mcp, NULL);
	http_stream_free(stream);
}

void http_stream_reap(struct http_server *server)
{
	struct http_stream *stream;

	while ((stream = TAILQ_FIRST(&server->dead_streams)) != NULL) {
		if (stream->own != NULL)
			mcp_session_free(stream->own);
		http_stream_free(stream);
	}
}

void http_stream_abandon(struct http_stream *stream)
{
	struct mcp_session *own = stream->own;

	mcp_stream_gone(&stream->mcp, NULL);
	mcp_session_free(own);
	http_stream_free(stream);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct http_stream *stream = arg;

	(void)fd;
	(void)what;
	if (stream->conn == NULL)
		return;
	if (!stream->started && stream->may_events)
		become_events(stream);
	if (!stream->started)
		return;
	http_conn_write(stream->conn, ":\n\n", 3);
	set_timer(stream, stream->server->times.alive_ms);
}

static void attach(struct http_stream *stream, struct http_conn *conn)
{
	stream->conn = conn;
	http_conn_set_gone(conn, on_gone, stream);
}

static struct http_stream *new_stream(struct http_server *server, struct http_session *session)
{
	struct http_stream *stream = calloc(1, sizeof(*stream));

	if (stream == NULL)
		return NULL;
	stream->timer = event_new(server->base, -1, 0, on_timer, stream);
	if (stream->timer == NULL) {
		free(stream);
		return NULL;
	}
	stream->server = server;
	stream->session = session;
	stream->mcp.send = on_send;
	stream->mcp.finish = on_finish;
	http_events_init(&stream->events);
	if (session != NULL)
		TAILQ_INSERT_HEAD(&session->streams, stream, link);
	else
		TAILQ_INSERT_HEAD(&server->fresh, stream, link);
	return stream;
}

struct http_stream *http_stream_new(struct http_conn *conn, struct http_session *session)
{
	struct http_stream *stream = new_stream(conn->server, session);

	if (stream == NULL)
		return NULL;
	stream->may_json = http_head_accepts(conn->head, "application/json");
	stream->may_events = http_head_accepts(conn->head, "text/event-stream");
	if (session != NULL)
		session->live_count++;
	else
		stream->own = mcp_session_new(conn->server->mcp, MCP_SESSION_MODERN);
	if (session == NULL && stream->own == NULL) {
		http_stream_free(stream);
		return NULL;
	}
	attach(stream, conn);
	return stream;
}

struct http_stream *http_stream_unsolicited(struct http_session *session)
{
	struct http_stream *stream = session->unsolicited;

	if (stream != NULL)
		return stream;
	stream = new_stream(session->server, session);
	if (stream == NULL)
		return NULL;
	stream->unsolicited = true;
	stream->resumable = true;
	session->unsolicited = stream;
	mcp_session_set_unsolicited(session->mcp, &stream->mcp);
	return stream;
}

void http_stream_receive(struct http_stream *stream, const json_t *message)
{
	struct mcp_session *session = stream->own ? stream->own : stream->session->mcp;

	set_timer(stream, stream->server->times.stream_ms);
	mcp_session_receive(session, message, &stream->mcp);
}

struct http_stream *http_stream_find(const struct http_session *session, unsigned int number)
{
	struct http_stream *stream;

	TAILQ_FOREACH(stream, &session->streams, link) {
		if (stream->resumable && stream->number == number)
			return stream;
	}
	return NULL;
}

void http_stream_resume(struct http_stream *stream, struct http_conn *conn, unsigned int after)
{
	/* A connection that broke without our noticing may still be there. */
	if (stream->conn != NULL)
		detach(stream);
	attach(stream, conn);
	stream->sent = after < stream->events.last ? after : stream->events.last;
	start_events(stream);
	send_kept(stream);
	if (stream->ended)
		detach(stream);
}

void http_stream_expire(struct http_server *server)
{
	uint64_t limit = server->times.replay_ms * SBX_NS_PER_MS, now = sbx_now_ns();
	struct http_stream *stream;

	while ((stream = TAILQ_FIRST(&server->ended)) != NULL) {
		if (now - stream->ended_ns < limit && server->replay_bytes <= HTTP_REPLAY_MAX)
			return;
		http_stream_free(stream);
	}
}
