/* SPDX-License-Identifier: MIT */
/* What a row's function does with its call, and how the call gets there and back. */
#include "mcp/core.h"

#include "base/auto.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_MAX 1024 /* under way or waiting for a worker */
#define GRACE_S	  3    /* from the interrupt to the kill */

/* ---- from the loop to a worker ---- */

struct mcp_call *mcp_call_new(struct mcp_request *r, enum mcp_call_kind kind)
{
	struct sbx_error ignored;
	struct mcp_call *call;

	/* A cancelled one counts until a worker has put it away, or there would be any number. */
	if (r->server->busy >= CALLS_MAX) {
		mcp_request_fail(r, MCP_INTERNAL_ERROR, 503, NULL,
				 "%d calls are under way; try again later", CALLS_MAX);
		return NULL;
	}
	call = calloc(1, sizeof(*call));
	if (call == NULL || sbx_cancel_new(&call->cancel, &ignored) < 0) {
		free(call);
		mcp_request_fail(r, MCP_INTERNAL_ERROR, 503, NULL, "no memory for one more call; try later");
		return NULL;
	}
	call->server = r->server;
	call->request = r;
	call->session = r->session;
	memcpy(call->client, r->session->client, sizeof(call->client));
	call->kind = kind;
	call->modern = r->revision->modern;
	call->structured = r->revision->structured;
	call->client_caps = json_incref(r->client_caps ? r->client_caps : json_null());
	call->progress_token = json_incref(mcp_meta(r->params, "progressToken"));
	call->log_rank = r->log_rank;
	call->content = json_array();
	call->last_progress = -1;
	pthread_mutex_init(&call->lock, NULL);
	pthread_cond_init(&call->answered, NULL);
	r->call = call;
	return call;
}

void mcp_call_start(struct mcp_call *call)
{
	call->server->busy++;
	mcp_workers_add(call->server->workers, call);
}

void mcp_call_free(struct mcp_call *call)
{
	if (call->patience != NULL)
		event_free(call->patience);
	if (call->grace != NULL) {
		LIST_REMOVE(call, interrupted);
		event_free(call->grace);
	}
	json_decref(call->arguments);
	free(call->uri);
	free(call->variable);
	json_decref(call->client_caps);
	json_decref(call->progress_token);
	json_decref(call->content);
	json_decref(call->structured_content);
	free(call->refusal);
	json_decref(call->refusal_data);
	json_decref(call->answers);
	json_decref(call->questions);
	json_decref(call->state);
	json_decref(call->kept);
	json_decref(call->answer);
	json_decref(call->unsent);
	sbx_cancel_free(call->cancel);
	pthread_cond_destroy(&call->answered);
	pthread_mutex_destroy(&call->lock);
	free(call);
}

static void out_of_grace(evutil_socket_t fd, short events, void *call)
{
	(void)fd;
	(void)events;
	sbx_cancel_kill(((struct mcp_call *)call)->cancel);
}

/* False: it cannot be, and is to be killed. */
static bool interrupt_first(struct mcp_call *call)
{
	const struct timeval grace = {.tv_sec = GRACE_S};

	if (call->grace != NULL)
		return true;
	if (!atomic_load(&call->gently) || call->server->ends)
		return false;
	call->grace = evtimer_new(call->server->loop, out_of_grace, call);
	if (call->grace == NULL)
		return false;
	LIST_INSERT_HEAD(&call->server->interrupted, call, interrupted);
	if (evtimer_add(call->grace, &grace) < 0)
		return false;
	sbx_cancel_interrupt(call->cancel);
	return true;
}

void mcp_calls_kill_interrupted(struct mcp_server *server)
{
	struct mcp_call *call;

	LIST_FOREACH(call, &server->interrupted, interrupted)
		sbx_cancel_kill(call->cancel);
}

void mcp_call_stop(struct mcp_call *call)
{
	atomic_store(&call->cancelled, true);
	if (!interrupt_first(call))
		sbx_cancel_kill(call->cancel);
	pthread_mutex_lock(&call->lock);
	pthread_cond_broadcast(&call->answered);
	pthread_mutex_unlock(&call->lock);
}

/* ---- on the worker ---- */

static int run_row(struct mcp_call *call)
{
	switch (call->kind) {
	case MCP_CALL_RESOURCE:
		return call->resource->read(call, call->uri, call->variable, &call->error);
	case MCP_CALL_PROMPT:
		return call->prompt->get(call, call->arguments, &call->error);
	case MCP_CALL_TOOL:
	default:
		return call->tool->run(call, call->arguments, &call->error);
	}
}

void mcp_call_run(struct mcp_call *call)
{
	if (!mcp_call_is_cancelled(call))
		call->outcome = run_row(call);
}

void *mcp_call_userdata(const struct mcp_call *call)
{
	return call->server->face->userdata;
}

const char *mcp_call_client(const struct mcp_call *call)
{
	return call->client[0] != '\0' ? call->client : NULL;
}

struct mcp_server *mcp_call_server(const struct mcp_call *call)
{
	return call->server;
}

struct sbx_cancel *mcp_call_cancel(const struct mcp_call *call)
{
	return call->cancel;
}

bool mcp_call_is_cancelled(const struct mcp_call *call)
{
	return atomic_load(&call->cancelled);
}

void mcp_call_cancel_gently(struct mcp_call *call, bool gently)
{
	atomic_store(&call->gently, gently);
}

/* ---- content ---- */

static json_t *make_base64(const void *data, size_t len)
{
	auto_free char *text = len <= INT_MAX / 2 ? malloc(len / 3 * 4 + 5) : NULL;

	if (text == NULL)
		return json_string("");
	EVP_EncodeBlock((unsigned char *)text, data, (int)len);
	return json_string(text);
}

void mcp_call_add_item(struct mcp_call *call, json_t *item)
{
	json_array_append_new(call->content, item);
}

void mcp_call_add_text(struct mcp_call *call, const char *text, size_t len)
{
	mcp_call_add_item(call, json_pack("{s:s, s:o}", "type", "text", "text", mcp_text(text, len)));
}

void mcp_call_add_image(struct mcp_call *call, const char *mime_type, const void *data, size_t len)
{
	mcp_call_add_item(call, json_pack("{s:s, s:o, s:s}", "type", "image", "data",
					  make_base64(data, len), "mimeType", mime_type));
}

static json_t *make_contents(const char *uri, const char *mime_type, const void *data, size_t len)
{
	bool text = strncmp(mime_type, "text/", 5) == 0 || strcmp(mime_type, "application/json") == 0;

	return json_pack("{s:s, s:s, s:o}", "uri", uri, "mimeType", mime_type,
			 text ? "text" : "blob",
			 text ? mcp_text(data, len) : make_base64(data, len));
}

void mcp_call_add_contents(struct mcp_call *call, const char *uri, const char *mime_type,
			   const void *data, size_t len)
{
	mcp_call_add_item(call, make_contents(uri, mime_type, data, len));
}

void mcp_call_add_embedded(struct mcp_call *call, const char *uri, const char *mime_type,
			   const void *data, size_t len)
{
	mcp_call_add_item(call, json_pack("{s:s, s:o}", "type", "resource", "resource",
					  make_contents(uri, mime_type, data, len)));
}

void mcp_call_add_message(struct mcp_call *call, const char *role, json_t *content)
{
	mcp_call_add_item(call, json_pack("{s:s, s:o}", "role", role, "content", content));
}

/* They came with structured content. */
bool mcp_call_has_links(const struct mcp_call *call)
{
	return call->structured;
}

void mcp_call_set_structured(struct mcp_call *call, json_t *value)
{
	json_decref(call->structured_content);
	call->structured_content = value;
}

void mcp_call_set_error(struct mcp_call *call)
{
	call->is_error = true;
}

void mcp_call_refuse(struct mcp_call *call, int code, const char *message, json_t *data)
{
	free(call->refusal);
	json_decref(call->refusal_data);
	call->refusal = strdup(message);
	call->refusal_code = code;
	call->refusal_data = data;
	call->refusal_status = code == MCP_MISSING_CAPABILITY ? 400 : 200;
}

/* ---- on the way ---- */

static void say(void *call_, void *message)
{
	struct mcp_call *call = call_;

	if (call->request != NULL)
		mcp_request_say(call->request, message);
	else if (call->task != NULL && call->session != NULL)
		mcp_session_say(call->session, message);
	else
		json_decref(message);
}

bool mcp_call_wants_progress(const struct mcp_call *call)
{
	return call->progress_token != NULL;
}

void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *message)
{
	json_t *params;

	/* The protocol wants it to grow. */
	if (call->progress_token == NULL || progress <= call->last_progress ||
	    mcp_call_is_cancelled(call))
		return;
	call->last_progress = progress;
	params = json_pack("{s:O, s:f}", "progressToken", call->progress_token, "progress", progress);
	if (total > 0)
		json_object_set_new(params, "total", json_real(total));
	if (message != NULL)
		json_object_set_new(params, "message", mcp_text(message, strlen(message)));
	mcp_post(call->server->posts, say, call, mcp_notification("notifications/progress", params));
}

bool mcp_call_wants_log(const struct mcp_call *call, const char *level)
{
	return mcp_level_rank(level) >= call->log_rank;
}

void mcp_call_log(struct mcp_call *call, const char *level, const char *logger, json_t *data)
{
	if (!mcp_call_wants_log(call, level) || mcp_call_is_cancelled(call)) {
		json_decref(data);
		return;
	}
	mcp_post(call->server->posts, say, call,
		 mcp_notification("notifications/message",
				  json_pack("{s:s, s:s*, s:o}", "level", level, "logger", logger,
					    "data", data)));
}

bool mcp_call_client_can(const struct mcp_call *call, const char *capability)
{
	return json_object_get(call->client_caps, capability) != NULL;
}

/* ---- back on the loop ---- */

static json_t *tool_result(struct mcp_call *call)
{
	json_t *result;

	if (call->outcome < 0) {
		json_array_clear(call->content);
		mcp_call_add_text(call, call->error.msg, strlen(call->error.msg));
		call->is_error = true;
	}
	result = json_pack("{s:O, s:b}", "content", call->content, "isError", call->is_error);
	if (call->structured && call->structured_content != NULL && call->outcome == MCP_DONE)
		json_object_set(result, "structuredContent", call->structured_content);
	return result;
}

json_t *mcp_call_result(struct mcp_call *call)
{
	if (call->outcome == MCP_NEEDS_INPUT)
		return mcp_ask_result(call);
	if (call->kind == MCP_CALL_TOOL)
		return tool_result(call);
	if (call->kind == MCP_CALL_RESOURCE)
		return json_pack("{s:O}", "contents", call->content);
	return json_pack("{s:s*, s:O}", "description", call->prompt->description, "messages",
			 call->content);
}

static void answer(struct mcp_request *r, struct mcp_call *call)
{
	if (call->refusal != NULL)
		mcp_request_fail(r, call->refusal_code, call->refusal_status,
				 json_incref(call->refusal_data), "%s", call->refusal);
	else if (call->kind == MCP_CALL_RESOURCE && call->outcome < 0 &&
		 call->error.code == SBX_E_NOT_FOUND)
		mcp_refuse_resource(r, mcp_get_string(r->params, "uri"), call->error.msg);
	else if (call->kind != MCP_CALL_TOOL && call->outcome < 0)
		mcp_request_fail(r, MCP_INTERNAL_ERROR, 200, NULL, "%s", call->error.msg);
	else
		mcp_request_succeed(r, mcp_call_result(call));
}

static void deliver(struct mcp_call *call)
{
	struct mcp_request *r = call->request;

	if (call->outcome == MCP_NEEDS_INPUT && call->refusal == NULL)
		mcp_task_promote(call);
	if (call->task != NULL) {
		mcp_task_turn(call);
		return;
	}
	if (r != NULL) {
		r->call = NULL;
		answer(r, call);
	}
	mcp_call_free(call);
}

void mcp_call_finished(struct mcp_call *call)
{
	struct mcp_server *server = call->server;

	server->busy--;
	deliver(call);
	if (server->busy == 0 && server->on_idle != NULL)
		server->on_idle(server->on_idle_userdata);
}
