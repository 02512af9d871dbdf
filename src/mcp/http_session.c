/* SPDX-License-Identifier: MIT */
#include "mcp/http_session.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

static bool is_idle(const struct http_session *session)
{
	const struct http_stream *unsolicited = session->unsolicited;

	return session->live_count == 0 && (unsolicited == NULL || unsolicited->conn == NULL);
}

/* A call that asks a client which went away would run, and keep its worker, for ever. */
static bool is_left(const struct http_session *session)
{
	const struct http_stream *stream;

	TAILQ_FOREACH(stream, &session->streams, link) {
		if (stream->conn != NULL)
			return false;
	}
	return true;
}

/* Clients that end without a goodbye must not keep new ones out. */
static bool make_room(struct http_server *server)
{
	struct http_session *session;

	if (server->session_count < HTTP_SESSIONS_MAX)
		return true;
	TAILQ_FOREACH_REVERSE(session, &server->sessions, http_session_list, link) {
		if (is_idle(session)) {
			http_session_free(session);
			return true;
		}
	}
	return false;
}

struct http_session *http_session_new(struct http_server *server)
{
	struct http_session *session = make_room(server) ? calloc(1, sizeof(*session)) : NULL;

	if (session == NULL)
		return NULL;
	session->mcp = mcp_session_new(server->mcp, MCP_SESSION_LEGACY);
	if (session->mcp == NULL || !mcp_make_id(session->id)) {
		if (session->mcp != NULL)
			mcp_session_free(session->mcp);
		free(session);
		return NULL;
	}
	session->server = server;
	session->used_ns = sbx_now_ns();
	TAILQ_INIT(&session->streams);
	TAILQ_INSERT_HEAD(&server->sessions, session, link);
	server->session_count++;
	return session;
}

struct http_session *http_session_find(struct http_server *server, const char *id)
{
	struct http_session *session;

	/* Whoever is busy is found near the head. */
	TAILQ_FOREACH(session, &server->sessions, link) {
		if (strcmp(session->id, id) == 0)
			break;
	}
	if (session == NULL)
		return NULL;
	session->used_ns = sbx_now_ns();
	TAILQ_REMOVE(&server->sessions, session, link);
	TAILQ_INSERT_HEAD(&server->sessions, session, link);
	return session;
}

void http_session_free(struct http_session *session)
{
	struct http_server *server = session->server;
	struct http_stream *stream;

	/* First, so that no stream is touched any more. */
	mcp_session_free(session->mcp);
	while ((stream = TAILQ_FIRST(&session->streams)) != NULL)
		http_stream_free(stream);
	if (session->dead) {
		TAILQ_REMOVE(&server->dead_sessions, session, link);
	} else {
		TAILQ_REMOVE(&server->sessions, session, link);
		server->session_count--;
	}
	free(session);
}

void http_session_bury(struct http_session *session)
{
	struct http_server *server = session->server;

	if (session->dead)
		return;
	TAILQ_REMOVE(&server->sessions, session, link);
	server->session_count--;
	session->dead = true;
	TAILQ_INSERT_TAIL(&server->dead_sessions, session, link);
	event_active(server->reaper, 0, 0);
}

void http_session_reap(struct http_server *server)
{
	struct http_session *session;

	while ((session = TAILQ_FIRST(&server->dead_sessions)) != NULL)
		http_session_free(session);
}

void http_session_expire(struct http_server *server)
{
	uint64_t limit = server->times.session_ms * SBX_NS_PER_MS, now = sbx_now_ns();
	struct http_session *session = TAILQ_LAST(&server->sessions, http_session_list), *before;

	for (; session != NULL; session = before) {
		before = TAILQ_PREV(session, http_session_list, link);
		if (now - session->used_ns >= limit && is_left(session))
			http_session_free(session);
	}
}
