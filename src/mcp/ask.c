/* SPDX-License-Identifier: MIT */
/*
 * Asking the client while a row's function runs.
 *
 * In the older era the question is a request of ours and the worker waits for its response. In
 * the newer one the result of the call lists the questions; the client calls again with the
 * answers, and with a sealed state in which we keep the answers of earlier rounds.
 */
#include "mcp/core.h"

#include "base/auto.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STATE_TTL_S 3600

static const struct {
	const char *method, *capability;
} askable[] = {
	{"elicitation/create", "elicitation"},
	{"sampling/createMessage", "sampling"},
	{"roots/list", "roots"},
};

static const char *capability_of(const char *method)
{
	for (size_t i = 0; i < sizeof(askable) / sizeof(askable[0]); i++)
		if (strcmp(askable[i].method, method) == 0)
			return askable[i].capability;
	return NULL;
}

/* ---- in the newer era ---- */

/* What the call is about, so that a state serves no other call. */
static json_t *make_subject(const struct mcp_call *call)
{
	const char *name = call->kind == MCP_CALL_TOOL	  ? call->tool->name
			   : call->kind == MCP_CALL_PROMPT ? call->prompt->name
							   : call->uri;
	auto_free char *arguments = json_dumps(call->arguments ? call->arguments : json_null(),
					       JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
	unsigned char digest[EVP_MAX_MD_SIZE];
	char hex[2 * EVP_MAX_MD_SIZE + 1] = "";
	unsigned int size = 0;

	if (arguments == NULL ||
	    EVP_Digest(arguments, strlen(arguments), digest, &size, EVP_sha256(), NULL) != 1)
		size = 0;
	for (unsigned int i = 0; i < size; i++)
		snprintf(hex + (size_t)2 * i, 3, "%02x", digest[i]);
	return json_pack("[i, s, s]", (int)call->kind, name, hex);
}

static bool state_fits(const struct mcp_call *call, const json_t *state)
{
	json_t *subject = make_subject(call);
	bool fits = json_equal(json_object_get(state, "subject"), subject) &&
		    json_integer_value(json_object_get(state, "until")) > time(NULL);

	json_decref(subject);
	return fits;
}

bool mcp_ask_is_retry(const struct mcp_request *r)
{
	return json_object_get(r->params, "inputResponses") != NULL ||
	       json_object_get(r->params, "requestState") != NULL;
}

static bool refuse_retry(struct mcp_request *r, struct mcp_call *call, const char *why)
{
	r->call = NULL;
	mcp_call_free(call);
	mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL, "%s", why);
	return false;
}

/* Answers are objects; anything else is none, and its question is asked again. */
void mcp_ask_take_answers(json_t *answers, const json_t *questions, const json_t *given)
{
	const char *key;
	json_t *answer;

	json_object_foreach((json_t *)given, key, answer) {
		if (json_is_object(answer) &&
		    (questions == NULL || json_object_get(questions, key) != NULL))
			json_object_set(answers, key, answer);
	}
}

bool mcp_ask_resume(struct mcp_request *r, struct mcp_call *call)
{
	const json_t *given = json_object_get(r->params, "inputResponses");
	const json_t *text = json_object_get(r->params, "requestState");
	json_t *state = NULL;

	call->answers = json_object();
	if (!r->revision->modern || !mcp_ask_is_retry(r))
		return true;
	if (given != NULL && !json_is_object(given))
		return refuse_retry(r, call, "inputResponses must be an object");
	if (text != NULL) {
		state = json_is_string(text) ? mcp_unseal(r->server, json_string_value(text)) : NULL;
		if (state == NULL || !state_fits(call, state)) {
			json_decref(state);
			return refuse_retry(r, call,
					    "requestState is not what this server gave for this call, or "
					    "it is too old; call again without it");
		}
		json_object_update(call->answers, json_object_get(state, "answers"));
		call->state = json_incref(json_object_get(state, "kept"));
		json_decref(state);
	}
	mcp_ask_take_answers(call->answers, NULL, given);
	return true;
}

json_t *mcp_ask_result(struct mcp_call *call)
{
	json_t *state = json_pack("{s:o, s:I, s:O, s:O*}", "subject", make_subject(call), "until",
				  (json_int_t)time(NULL) + STATE_TTL_S, "answers", call->answers,
				  "kept", call->kept);
	auto_free char *sealed = mcp_seal(call->server, state);

	json_decref(state);
	return json_pack("{s:s, s:O, s:s*}", "resultType", "input_required", "inputRequests",
			 call->questions, "requestState", sealed);
}

static int ask_by_result(struct mcp_call *call, const char *key, const char *method, json_t *params,
			 json_t **ret)
{
	json_t *answer = json_object_get(call->answers, key);

	if (answer != NULL) {
		json_decref(params);
		*ret = json_incref(answer);
		return MCP_DONE;
	}
	if (call->questions == NULL)
		call->questions = json_object();
	json_object_set_new(call->questions, key,
			    json_pack("{s:s, s:o*}", "method", method, "params", params));
	return MCP_NEEDS_INPUT;
}

/* ---- in the older era ---- */


/* The worker goes on without an answer: there will be none. */
static void give_up(struct mcp_call *call)
{
	pthread_mutex_lock(&call->lock);
	call->has_answer = true;
	pthread_cond_broadcast(&call->answered);
	pthread_mutex_unlock(&call->lock);
}

void mcp_ask_give_up(struct mcp_session *session)
{
	struct mcp_request *r;

	session->deaf = true;
	TAILQ_FOREACH(r, &session->requests, link)
		if (r->call != NULL)
			give_up(r->call);
	mcp_tasks_give_up(session, give_up);
}

/* Whose connection broke before it could know the number of its stream does not come back. */
static bool can_ask(const struct mcp_call *call)
{
	return !call->session->deaf && (call->request == NULL || call->request->stream != NULL);
}

/* On the loop: give the question its number and send it; without a client it stays unanswered. */
static void send_question(void *call_, void *message_)
{
	struct mcp_call *call = call_;
	json_t *message = message_;
	char id[32];

	if (call->session == NULL || mcp_call_is_cancelled(call)) {
		json_decref(message);
		mcp_call_stop(call);
		return;
	}
	if (!can_ask(call)) {
		json_decref(message);
		give_up(call);
		return;
	}
	pthread_mutex_lock(&call->lock);
	call->question = ++call->session->next_question;
	pthread_mutex_unlock(&call->lock);
	snprintf(id, sizeof(id), "server-%u", call->question);
	json_object_set_new(message, "id", json_string(id));
	mcp_task_asks(call->task, true);
	if (call->request != NULL)
		mcp_request_say(call->request, message);
	else if (call->session->unsolicited != NULL)
		mcp_session_say(call->session, message);
	else
		mcp_task_say(call->task, message);
}

static bool wait_for_answer(struct mcp_call *call, json_t **ret)
{
	pthread_mutex_lock(&call->lock);
	while (!call->has_answer && !mcp_call_is_cancelled(call))
		pthread_cond_wait(&call->answered, &call->lock);
	*ret = call->answer;
	call->answer = NULL;
	call->has_answer = false;
	call->question = 0;
	pthread_mutex_unlock(&call->lock);
	return *ret != NULL;
}

static int ask_by_request(struct mcp_call *call, const char *method, json_t *params, json_t **ret,
			  struct sbx_error *err)
{
	json_t *response, *problem;

	mcp_post(call->server->posts, send_question, call,
		 json_pack("{s:s, s:s, s:o*}", "jsonrpc", "2.0", "method", method, "params", params));
	if (!wait_for_answer(call, &response)) {
		snprintf(err->msg, sizeof(err->msg), "the client went away before it answered '%s'", method);
		err->code = SBX_E_UNAVAILABLE;
		return -(int)err->code;
	}
	problem = json_object_get(json_object_get(response, "error"), "message");
	if (problem != NULL) {
		snprintf(err->msg, sizeof(err->msg), "the client refused '%s': %.200s", method,
			 json_string_value(problem) ? json_string_value(problem) : "");
		err->code = SBX_E_DENIED;
		json_decref(response);
		return -(int)err->code;
	}
	*ret = json_incref(json_object_get(response, "result"));
	json_decref(response);
	if (*ret != NULL)
		return MCP_DONE;
	snprintf(err->msg, sizeof(err->msg), "the client refused '%s' without a word", method);
	err->code = SBX_E_DENIED;
	return -(int)err->code;
}

/* The worker of the call sets the number back when it has the answer. */
bool mcp_call_asks(struct mcp_call *call, unsigned int number)
{
	bool asks;

	pthread_mutex_lock(&call->lock);
	asks = call->question == number && !call->has_answer;
	pthread_mutex_unlock(&call->lock);
	return asks;
}

/* The call of this session that waits for the answer with this number. */
static struct mcp_call *find_asker(struct mcp_session *session, unsigned int number)
{
	struct mcp_request *r;

	TAILQ_FOREACH(r, &session->requests, link)
		if (r->call != NULL && mcp_call_asks(r->call, number))
			return r->call;
	return mcp_task_find_asker(session, number);
}

void mcp_ask_answered(struct mcp_session *session, const json_t *response)
{
	const char *id = mcp_get_string(response, "id");
	struct mcp_call *call;
	unsigned int number;
	char rest;

	if (id == NULL || sscanf(id, "server-%u%c", &number, &rest) != 1 || number == 0)
		return;
	call = find_asker(session, number);
	if (call == NULL)
		return;
	mcp_task_asks(call->task, false);
	pthread_mutex_lock(&call->lock);
	json_decref(call->answer);
	call->answer = json_incref((json_t *)response);
	call->has_answer = true;
	pthread_cond_broadcast(&call->answered);
	pthread_mutex_unlock(&call->lock);
}

/* ---- both ---- */

static int refuse_unable(struct mcp_call *call, const char *method, const char *capability,
			 struct sbx_error *err)
{
	snprintf(err->msg, sizeof(err->msg), "this needs a client that can do '%s' (capability '%s')",
		 method, capability);
	err->code = SBX_E_UNAVAILABLE;
	if (call->modern)
		mcp_call_refuse(call, MCP_MISSING_CAPABILITY, err->msg,
				json_pack("{s:{s:{}}}", "requiredCapabilities", capability));
	return -(int)err->code;
}

int mcp_call_ask(struct mcp_call *call, const char *key, const char *method, json_t *params,
		 json_t **ret, struct sbx_error *err)
{
	const char *capability = capability_of(method);

	if (capability == NULL || !mcp_call_client_can(call, capability)) {
		json_decref(params);
		return refuse_unable(call, method, capability ? capability : "unknown", err);
	}
	if (call->modern)
		return ask_by_result(call, key, method, params, ret);
	return ask_by_request(call, method, params, ret, err);
}

const json_t *mcp_call_state(const struct mcp_call *call)
{
	return call->state;
}

void mcp_call_keep_state(struct mcp_call *call, json_t *state)
{
	json_decref(call->kept);
	call->kept = state;
}
