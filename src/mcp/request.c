/* SPDX-License-Identifier: MIT */
/* Requests from their arrival to their answer, and the sessions that they belong to. */
#include "mcp/core.h"

#include "base/auto.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_RANK_DEFAULT 3 /* warning: of what a program prints only who asked is told */
#define REQUESTS_MAX	 4096 /* of one session at once */

/* ---- the end of a request ---- */

static void free_request(struct mcp_request *r)
{
	TAILQ_REMOVE(&r->session->requests, r, link);
	r->session->open--;
	json_decref(r->id);
	json_decref(r->params);
	json_decref(r->listens);
	free(r);
}

static void finish(struct mcp_request *r, json_t *response, int status)
{
	struct mcp_stream *stream = r->stream;

	free_request(r);
	if (stream != NULL) {
		stream->request = NULL;
		stream->finish(stream, response, status);
	}
	json_decref(response);
}

/* What every result of the newer era has besides its own. */
static void complete_result(const struct mcp_request *r, json_t *result)
{
	json_t *meta = json_object_get(result, "_meta");

	if (meta == NULL) {
		meta = json_object();
		json_object_set_new(result, "_meta", meta);
	}
	json_object_set_new(meta, MCP_META_SERVER_INFO,
			    mcp_server_info(r->server->face, r->revision));
	if (json_object_get(result, "resultType") == NULL)
		json_object_set_new(result, "resultType", json_string("complete"));
	if (r->method != NULL && r->method->cacheable) {
		json_object_set_new(result, "ttlMs", json_integer(60000));
		json_object_set_new(result, "cacheScope", json_string("private"));
	}
}

/* NULL, when a result could not be made, must not leave the client without an answer. */
void mcp_request_succeed(struct mcp_request *r, json_t *result)
{
	if (result == NULL) {
		mcp_request_fail(r, MCP_INTERNAL_ERROR, 200, NULL, "the result could not be written");
		return;
	}
	if (r->revision->modern)
		complete_result(r, result);
	finish(r, mcp_response(r->id, result), 200);
}

void mcp_request_fail(struct mcp_request *r, int code, int status, json_t *data, const char *format,
		      ...)
{
	char message[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	finish(r, mcp_error_response(r->id, code, message, data), status);
}

void mcp_request_say(struct mcp_request *r, json_t *message)
{
	if (r->stream != NULL)
		r->stream->send(r->stream, message);
	json_decref(message);
}

void mcp_request_drop(struct mcp_request *r)
{
	if (r->call != NULL) {
		r->call->request = NULL;
		r->call->session = NULL;
		mcp_call_stop(r->call);
	}
	finish(r, NULL, 200);
}

/* ---- streams ---- */

void mcp_stream_cancel(struct mcp_stream *stream)
{
	struct mcp_request *r = stream->request;

	if (stream->batch != NULL)
		mcp_batch_gone(stream->batch, NULL, true);
	if (r == NULL)
		return;
	stream->request = NULL;
	r->stream = NULL;
	mcp_request_drop(r);
}

void mcp_stream_gone(struct mcp_stream *stream, struct mcp_stream *later)
{
	struct mcp_request *r = stream->request;

	if (stream->batch != NULL)
		mcp_batch_gone(stream->batch, later, false);
	if (r == NULL)
		return;
	if (r->revision->modern) {
		mcp_stream_cancel(stream);
		return;
	}
	stream->request = NULL;
	r->stream = later;
	if (later != NULL)
		later->request = r;
}

/* ---- sessions ---- */

struct mcp_session *mcp_session_new(struct mcp_server *server, enum mcp_session_kind kind)
{
	struct mcp_session *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	if (kind != MCP_SESSION_MODERN && !mcp_make_id(s->client)) {
		free(s);
		return NULL;
	}
	s->server = server;
	s->kind = kind;
	s->log_rank = LOG_RANK_DEFAULT;
	s->subscriptions = json_object();
	TAILQ_INIT(&s->requests);
	LIST_INSERT_HEAD(&server->sessions, s, link);
	return s;
}

void mcp_session_free(struct mcp_session *s)
{
	struct mcp_request *r;

	if (s == NULL)
		return;
	while ((r = TAILQ_FIRST(&s->requests)) != NULL) {
		if (r->stream != NULL && r->stream->batch != NULL)
			mcp_batch_gone(r->stream->batch, NULL, true);
		else if (r->stream != NULL)
			mcp_stream_cancel(r->stream);
		else
			mcp_request_drop(r);
	}
	mcp_tasks_forget_session(s->server->tasks, s);
	/* Last: whatever its calls still make, they know that they are cancelled. */
	if (s->client[0] != '\0' && s->server->face->client_gone != NULL)
		s->server->face->client_gone(s->server->face->userdata, s->client);
	LIST_REMOVE(s, link);
	json_decref(s->client_caps);
	json_decref(s->subscriptions);
	free(s);
}

void mcp_session_set_unsolicited(struct mcp_session *s, struct mcp_stream *unsolicited)
{
	s->unsolicited = unsolicited;
}

void mcp_session_say(struct mcp_session *s, json_t *message)
{
	if (s->unsolicited != NULL)
		s->unsolicited->send(s->unsolicited, message);
	json_decref(message);
}

const char *mcp_session_revision(const struct mcp_session *s)
{
	return s->revision ? s->revision->name : NULL;
}

/* ---- notifications and responses ---- */

static struct mcp_request *find_request(struct mcp_session *s, const json_t *id)
{
	struct mcp_request *r;

	TAILQ_FOREACH(r, &s->requests, link)
		if (json_equal(r->id, id))
			return r;
	return NULL;
}

/* Only the cancelling of a request means anything here; what is over already is no matter. */
static void take_notification(struct mcp_session *s, const char *method, const json_t *params)
{
	struct mcp_request *r;

	if (strcmp(method, "notifications/cancelled") != 0)
		return;
	r = find_request(s, json_object_get(params, "requestId"));
	if (r == NULL || (r->method != NULL && strcmp(r->method->name, "initialize") == 0))
		return;
	if (r->listens != NULL)
		mcp_listen_end(r);
	else
		mcp_request_drop(r);
}

/* ---- one request ---- */

void mcp_refuse(struct mcp_stream *stream, const json_t *id, int code, int status,
		const char *message, json_t *data)
{
	json_t *response = mcp_error_response(id, code, message, data);

	stream->finish(stream, response, status);
	json_decref(response);
}

void mcp_session_refuse(struct mcp_session *session, int code, const char *reason,
			struct mcp_stream *stream)
{
	(void)session;
	mcp_refuse(stream, NULL, code, 400, reason, NULL);
}

/* The request speaks for itself: its revision and what its client can do are in its _meta. */
static bool read_modern_meta(struct mcp_request *r)
{
	const json_t *version = mcp_meta(r->params, MCP_META_PROTOCOL);
	json_t *caps = mcp_meta(r->params, MCP_META_CLIENT_CAPS);
	const json_t *level = mcp_meta(r->params, MCP_META_LOG_LEVEL);
	const struct mcp_revision *revision = mcp_revision_find(json_string_value(version));

	if (!json_is_string(version) || !json_is_object(caps)) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 400, NULL, "params._meta must have '%s' (%s)",
				 json_is_string(version) ? MCP_META_CLIENT_CAPS : MCP_META_PROTOCOL,
				 json_is_string(version) ? "an object" : "a revision");
		return false;
	}
	if (revision == NULL || !revision->modern) {
		mcp_request_fail(r, MCP_UNSUPPORTED_REVISION, 400,
				 json_pack("{s:o, s:s}", "supported", mcp_revision_names(true), "requested",
					   json_string_value(version)),
				 "this server does not speak revision '%.40s' that way",
				 json_string_value(version));
		return false;
	}
	r->revision = revision;
	r->client_caps = caps;
	r->log_rank = level ? mcp_level_rank(json_string_value(level)) : INT_MAX;
	if (r->log_rank >= 0)
		return true;
	mcp_request_fail(r, MCP_INVALID_PARAMS, 400, NULL, "'%s' must be \"debug\", \"info\" … \"emergency\"",
			 MCP_META_LOG_LEVEL);
	return false;
}

static bool read_legacy(struct mcp_request *r)
{
	struct mcp_session *s = r->session;

	r->revision = s->revision ? s->revision : mcp_revision_newest_legacy();
	r->client_caps = s->client_caps;
	r->log_rank = s->log_rank;
	if (s->revision != NULL || strcmp(r->method->name, "initialize") == 0 ||
	    strcmp(r->method->name, "ping") == 0)
		return true;
	mcp_request_fail(r, MCP_INVALID_REQUEST, 400, NULL,
			 "'%s' before 'initialize'; or put '%s' into params._meta", r->method->name,
			 MCP_META_PROTOCOL);
	return false;
}

static bool is_modern(const struct mcp_session *s, const char *method, const json_t *params)
{
	if (s->kind != MCP_SESSION_STDIO)
		return s->kind == MCP_SESSION_MODERN;
	return mcp_meta(params, MCP_META_PROTOCOL) != NULL || strcmp(method, "server/discover") == 0 ||
	       strcmp(method, "subscriptions/listen") == 0;
}

static struct mcp_request *new_request(struct mcp_session *s, const json_t *id, const json_t *params,
				       struct mcp_stream *stream)
{
	struct mcp_request *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->server = s->server;
	r->session = s;
	r->stream = stream;
	r->id = json_incref((json_t *)id);
	r->params = params ? json_incref((json_t *)params) : json_object();
	r->revision = mcp_revision_newest_legacy();
	TAILQ_INSERT_TAIL(&s->requests, r, link);
	s->open++;
	stream->request = r;
	return r;
}

static void take_request(struct mcp_session *s, const json_t *id, const char *method,
			 const json_t *params, struct mcp_stream *stream)
{
	bool modern = is_modern(s, method, params);
	struct mcp_request *r;

	if (s->open >= REQUESTS_MAX) {
		mcp_refuse(stream, id, MCP_INTERNAL_ERROR, 503, "too many requests are under way", NULL);
		return;
	}
	if (find_request(s, id) != NULL) {
		mcp_refuse(stream, id, MCP_INVALID_REQUEST, 400, "a request with this id is under way", NULL);
		return;
	}
	r = new_request(s, id, params, stream);
	if (r == NULL) {
		mcp_refuse(stream, id, MCP_INTERNAL_ERROR, 503, "no memory for one more request", NULL);
		return;
	}
	r->method = mcp_method_find(method, modern);
	if (modern && !read_modern_meta(r))
		return;
	if (r->method == NULL) {
		mcp_request_fail(r, MCP_METHOD_NOT_FOUND, modern ? 404 : 200, NULL,
				 "there is no method '%.80s'", method);
		return;
	}
	if (modern || read_legacy(r))
		r->method->serve(r);
}

/* ---- any message ---- */

static bool is_id(const json_t *id)
{
	return json_is_string(id) || json_is_integer(id);
}

/* Never answered, or two who do not understand each other would go on for ever. */
static bool is_response(const json_t *message)
{
	return json_object_get(message, "method") == NULL &&
	       (json_object_get(message, "result") != NULL || json_object_get(message, "error") != NULL);
}

void mcp_message_receive(struct mcp_session *s, const json_t *message, struct mcp_stream *stream)
{
	const json_t *id = json_object_get(message, "id");
	const json_t *params = json_object_get(message, "params");
	const char *method = mcp_get_string(message, "method");
	const char *version = mcp_get_string(message, "jsonrpc");

	if (version == NULL || strcmp(version, "2.0") != 0) {
		mcp_refuse(stream, is_id(id) ? id : NULL, MCP_INVALID_REQUEST, 400,
		       "a message is an object with \"jsonrpc\": \"2.0\"", NULL);
	} else if (is_response(message)) {
		mcp_ask_answered(s, message);
		stream->finish(stream, NULL, 202);
	} else if (method == NULL || (id != NULL && !is_id(id))) {
		mcp_refuse(stream, is_id(id) ? id : NULL, MCP_INVALID_REQUEST, 400,
		       "a request has a method and an id that is a string or a whole number", NULL);
	} else if (id == NULL && params != NULL && !json_is_object(params)) {
		/* A notification is never answered, not even a bad one. */
		stream->finish(stream, NULL, 400);
	} else if (params != NULL && !json_is_object(params)) {
		mcp_refuse(stream, id, MCP_INVALID_PARAMS, 400, "params must be an object", NULL);
	} else if (id == NULL) {
		take_notification(s, method, params);
		stream->finish(stream, NULL, 202);
	} else {
		take_request(s, id, method, params, stream);
	}
}

void mcp_session_receive(struct mcp_session *s, const json_t *message, struct mcp_stream *stream)
{
	if (json_is_array(message))
		mcp_batch_receive(s, message, stream);
	else
		mcp_message_receive(s, message, stream);
}
