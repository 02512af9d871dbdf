/* SPDX-License-Identifier: MIT */
/*
 * Calls that go on without their request: the client asks for the outcome later.
 *
 * In 2025-11-25 a client wants a task and belongs to its session; in the extension of the newer
 * era the server decides, and who knows the id of a task (128 random bits) may ask for it. A task
 * owns its call; a finished one is kept for its time and then forgotten.
 */
#include "mcp/core.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TASKS_MAX     1024
#define TTL_MS	      (10 * 60 * 1000)
#define TTL_MAX_MS    (60 * 60 * 1000)
#define POLL_MS	      1000
#define SWEEP_SECONDS 5
#define PATIENCE_MS   250 /* a call that is over sooner is not worth a task */

enum status { WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELLED };

static const char *const status_names[] = {
	[WORKING] = "working", [INPUT_REQUIRED] = "input_required", [COMPLETED] = "completed",
	[FAILED] = "failed",   [CANCELLED] = "cancelled",
};

struct mcp_task {
	struct mcp_tasks *tasks;
	char id[MCP_ID_SIZE];
	bool modern;
	struct mcp_session *session; /* older era: whose it is */
	enum status status;
	time_t created, updated;
	json_int_t ttl_ms;
	uint64_t forget_ns;	/* when; 0: it is not over */
	struct mcp_call *call;	/* NULL when it is over */
	json_t *pending;	/* newer era: questions without an answer, by their keys */
	json_t *result, *error; /* of a finished one */
	TAILQ_ENTRY(mcp_task) link;
};

struct mcp_tasks {
	struct mcp_server *server;
	TAILQ_HEAD(, mcp_task) list;
	size_t count;
	struct event *sweep;
};

/* ---- the collection ---- */

static void forget(struct mcp_task *task)
{
	TAILQ_REMOVE(&task->tasks->list, task, link);
	task->tasks->count--;
	json_decref(task->pending);
	json_decref(task->result);
	json_decref(task->error);
	free(task);
}

static void cancel(struct mcp_task *task);

static void sweep(evutil_socket_t fd, short events, void *tasks_)
{
	struct mcp_tasks *tasks = tasks_;
	struct mcp_task *task, *next;
	uint64_t now = sbx_now_ns();

	(void)fd;
	(void)events;
	for (task = TAILQ_FIRST(&tasks->list); task != NULL; task = next) {
		next = TAILQ_NEXT(task, link);
		/* A question that nobody answers in the task's time is answered with its end. */
		if (task->status == INPUT_REQUIRED && task->modern &&
		    time(NULL) - task->updated > task->ttl_ms / 1000)
			cancel(task);
		if (task->call == NULL && task->forget_ns != 0 && task->forget_ns <= now)
			forget(task);
	}
}

struct mcp_tasks *mcp_tasks_new(struct mcp_server *server)
{
	struct mcp_tasks *tasks = calloc(1, sizeof(*tasks));
	const struct timeval pause = {.tv_sec = SWEEP_SECONDS};

	if (tasks == NULL)
		return NULL;
	tasks->server = server;
	TAILQ_INIT(&tasks->list);
	tasks->sweep = event_new(server->loop, -1, EV_PERSIST, sweep, tasks);
	if (tasks->sweep != NULL && event_add(tasks->sweep, &pause) == 0)
		return tasks;
	mcp_tasks_free(tasks);
	return NULL;
}

void mcp_tasks_free(struct mcp_tasks *tasks)
{
	struct mcp_task *task;

	if (tasks == NULL)
		return;
	while ((task = TAILQ_FIRST(&tasks->list)) != NULL) {
		if (task->call != NULL)
			mcp_call_free(task->call);
		forget(task);
	}
	if (tasks->sweep != NULL)
		event_free(tasks->sweep);
	free(tasks);
}

static struct mcp_task *find(const struct mcp_request *r)
{
	const char *id = mcp_get_string(r->params, "taskId");
	struct mcp_task *task;

	TAILQ_FOREACH(task, &r->server->tasks->list, link)
		if (id != NULL && strcmp(task->id, id) == 0 && task->modern == r->revision->modern &&
		    (task->modern || task->session == r->session))
			return task;
	return NULL;
}

/* The oldest that is over makes room. */
static bool make_room(struct mcp_tasks *tasks)
{
	struct mcp_task *task;

	if (tasks->count < TASKS_MAX)
		return true;
	TAILQ_FOREACH(task, &tasks->list, link)
		if (task->call == NULL) {
			forget(task);
			return true;
		}
	return false;
}

/* ---- what a client sees ---- */

static json_t *format_time(time_t when)
{
	char text[32];
	struct tm tm;

	gmtime_r(&when, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

static json_t *describe(const struct mcp_task *task)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:I, s:i}", "taskId", task->id, "status",
			 status_names[task->status], "createdAt", format_time(task->created),
			 "lastUpdatedAt", format_time(task->updated), task->modern ? "ttlMs" : "ttl",
			 task->ttl_ms, task->modern ? "pollIntervalMs" : "pollInterval", POLL_MS);
}

/* With what has come of it, as the newer era wants it. */
static json_t *describe_whole(const struct mcp_task *task)
{
	json_t *value = describe(task);

	if (task->status == COMPLETED)
		json_object_set(value, "result", task->result);
	else if (task->status == FAILED)
		json_object_set(value, "error", task->error);
	else if (task->status == INPUT_REQUIRED)
		json_object_set(value, "inputRequests", task->pending);
	return value;
}

static void tell(const struct mcp_task *task)
{
	if (task->modern)
		mcp_listeners_tell(task->tasks->server, "notifications/tasks", "taskIds", task->id,
				   describe_whole(task));
	else if (task->session != NULL)
		mcp_session_say(task->session,
				mcp_notification("notifications/tasks/status", describe(task)));
}

/* ---- its life ---- */

static void set_status(struct mcp_task *task, enum status status)
{
	task->status = status;
	task->updated = time(NULL);
	tell(task);
}

static void answer_waiting(struct mcp_request *r, const struct mcp_task *task)
{
	json_t *related = json_pack("{s:{s:s}}", MCP_META_RELATED_TASK, "taskId", task->id), *result;

	if (task->status == COMPLETED) {
		result = json_copy(task->result);
		json_object_set(result, "_meta", related);
		mcp_request_succeed(r, result);
	} else if (task->status == FAILED) {
		mcp_request_fail(r, (int)json_integer_value(json_object_get(task->error, "code")), 200,
				 json_incref(json_object_get(task->error, "data")), "%s",
				 json_string_value(json_object_get(task->error, "message")));
	} else {
		mcp_request_fail(r, MCP_INTERNAL_ERROR, 200, NULL, "the task was cancelled");
	}
	json_decref(related);
}

static void answer_all_waiting(struct mcp_task *task)
{
	struct mcp_request *r, *next;

	if (task->session == NULL)
		return;
	for (r = TAILQ_FIRST(&task->session->requests); r != NULL; r = next) {
		next = TAILQ_NEXT(r, link);
		if (r->waits_for != task)
			continue;
		r->waits_for = NULL;
		answer_waiting(r, task);
	}
}

static void settle(struct mcp_task *task, enum status status)
{
	task->forget_ns = sbx_now_ns() + (uint64_t)task->ttl_ms * 1000000;
	set_status(task, status);
	answer_all_waiting(task);
}

static void keep_outcome(struct mcp_task *task, struct mcp_call *call)
{
	if (call->refusal != NULL) {
		task->error = json_pack("{s:i, s:o, s:O*}", "code", call->refusal_code, "message",
					mcp_text(call->refusal, strlen(call->refusal)), "data",
					call->refusal_data);
		settle(task, FAILED);
		return;
	}
	task->result = mcp_call_result(call);
	settle(task, COMPLETED);
}

void mcp_task_turn(struct mcp_call *call)
{
	struct mcp_task *task = call->task;

	if (task->status == WORKING && call->outcome == MCP_NEEDS_INPUT && call->refusal == NULL) {
		task->pending = json_copy(call->questions);
		set_status(task, INPUT_REQUIRED);
		return;
	}
	task->call = NULL;
	if (task->status != CANCELLED)
		keep_outcome(task, call);
	mcp_call_free(call);
}

static struct mcp_task *new_task(struct mcp_request *r)
{
	const json_t *ttl = json_object_get(json_object_get(r->params, "task"), "ttl");
	struct mcp_tasks *tasks = r->server->tasks;
	struct mcp_task *task = make_room(tasks) ? calloc(1, sizeof(*task)) : NULL;

	if (task == NULL || !mcp_make_id(task->id)) {
		free(task);
		return NULL;
	}
	task->tasks = tasks;
	task->modern = r->revision->modern;
	task->session = task->modern ? NULL : r->session;
	task->created = task->updated = time(NULL);
	task->ttl_ms = TTL_MS;
	if (!task->modern && json_is_integer(ttl) && json_integer_value(ttl) > 0)
		task->ttl_ms = json_integer_value(ttl) < TTL_MAX_MS ? json_integer_value(ttl) : TTL_MAX_MS;
	TAILQ_INSERT_TAIL(&tasks->list, task, link);
	tasks->count++;
	return task;
}

/* Answer the request with a task that owns the call; false: there is no room for one. */
static bool become_task(struct mcp_request *r, struct mcp_call *call)
{
	struct mcp_task *task = new_task(r);
	json_t *result;

	if (task == NULL)
		return false;
	r->call = NULL;
	task->call = call;
	call->task = task;
	call->request = NULL;
	call->session = task->session;
	if (task->modern) {
		result = describe(task);
		json_object_set_new(result, "resultType", json_string("task"));
	} else {
		result = json_pack("{s:o}", "task", describe(task));
	}
	mcp_request_succeed(r, result);
	return true;
}

void mcp_task_start(struct mcp_request *r, struct mcp_call *call)
{
	if (become_task(r, call)) {
		mcp_call_start(call);
		return;
	}
	r->call = NULL;
	mcp_call_free(call);
	mcp_request_fail(r, MCP_INTERNAL_ERROR, 503, NULL, "%d tasks run already; try later", TASKS_MAX);
}

/* Without room for one more task the client just waits for its answer. */
bool mcp_task_promote(struct mcp_call *call)
{
	return call->may_be_task && call->request != NULL && become_task(call->request, call);
}

static void out_of_patience(evutil_socket_t fd, short events, void *call)
{
	(void)fd;
	(void)events;
	mcp_task_promote(call);
}

void mcp_task_offer(struct mcp_call *call)
{
	const struct timeval patience = {.tv_usec = PATIENCE_MS * 1000};

	call->may_be_task = true;
	call->patience = evtimer_new(call->server->loop, out_of_patience, call);
	if (call->patience != NULL)
		evtimer_add(call->patience, &patience);
	mcp_call_start(call);
}

static void cancel(struct mcp_task *task)
{
	bool runs = task->status == WORKING || !task->modern;

	if (task->call == NULL || task->status == CANCELLED)
		return;
	settle(task, CANCELLED);
	if (runs) {
		mcp_call_stop(task->call);
		return;
	}
	mcp_call_free(task->call);
	task->call = NULL;
}

void mcp_tasks_stop(struct mcp_tasks *tasks)
{
	struct mcp_task *task;

	TAILQ_FOREACH(task, &tasks->list, link)
		cancel(task);
}

void mcp_tasks_forget_session(struct mcp_tasks *tasks, const struct mcp_session *session)
{
	struct mcp_task *task, *next;

	for (task = TAILQ_FIRST(&tasks->list); task != NULL; task = next) {
		next = TAILQ_NEXT(task, link);
		if (task->session != session || session == NULL)
			continue;
		task->session = NULL;
		if (task->call != NULL) {
			task->call->session = NULL;
			cancel(task);
		}
	}
}

struct mcp_call *mcp_task_find_asker(const struct mcp_session *session, unsigned int number)
{
	struct mcp_task *task;

	TAILQ_FOREACH(task, &session->server->tasks->list, link)
		if (task->session == session && task->call != NULL && mcp_call_asks(task->call, number))
			return task->call;
	return NULL;
}

void mcp_tasks_give_up(const struct mcp_session *session, void (*give_up)(struct mcp_call *call))
{
	struct mcp_task *task;

	TAILQ_FOREACH(task, &session->server->tasks->list, link)
		if (task->session == session && task->call != NULL)
			give_up(task->call);
}

/* To a request that waits for the result; without one the next such request hears it. */
void mcp_task_say(struct mcp_task *task, json_t *message)
{
	struct mcp_request *r;

	TAILQ_FOREACH(r, &task->session->requests, link)
		if (r->waits_for == task && r->stream != NULL) {
			mcp_request_say(r, message);
			return;
		}
	json_decref(task->call->unsent);
	task->call->unsent = message;
}

void mcp_task_asks(struct mcp_task *task, bool asks)
{
	if (task != NULL && (task->status == WORKING || task->status == INPUT_REQUIRED))
		set_status(task, asks ? INPUT_REQUIRED : WORKING);
}

/* ---- whether a call is one ---- */

static bool client_has_tasks(const struct mcp_request *r)
{
	return json_object_get(json_object_get(r->client_caps, "extensions"), MCP_EXTENSION_TASKS) !=
	       NULL;
}

static enum mcp_task_choice refuse_without_tasks(struct mcp_request *r)
{
	mcp_request_fail(r, MCP_MISSING_CAPABILITY, 400,
			 json_pack("{s:{s:{s:{}}}}", "requiredCapabilities", "extensions",
				   MCP_EXTENSION_TASKS),
			 "this needs a client with the extension '%s'", MCP_EXTENSION_TASKS);
	return MCP_TASK_FAILED;
}

static enum mcp_task_choice choose_modern(struct mcp_request *r, const struct mcp_tool *tool)
{
	if (tool->task == MCP_TASK_FORBIDDEN)
		return MCP_NO_TASK;
	if (!client_has_tasks(r))
		return tool->task == MCP_TASK_REQUIRED ? refuse_without_tasks(r) : MCP_NO_TASK;
	if (tool->task == MCP_TASK_OPTIONAL)
		return MCP_MAYBE_TASK;
	return tool->task_after_input && !mcp_ask_is_retry(r) ? MCP_NO_TASK : MCP_AS_TASK;
}

enum mcp_task_choice mcp_task_choose(struct mcp_request *r, const struct mcp_tool *tool)
{
	bool wants = r->revision->tasks && json_object_get(r->params, "task") != NULL;

	if (r->revision->modern)
		return choose_modern(r, tool);
	if (wants && !json_is_object(json_object_get(r->params, "task"))) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL, "task must be an object");
		return MCP_TASK_FAILED;
	}
	if ((wants && tool->task == MCP_TASK_FORBIDDEN) ||
	    (!wants && tool->task == MCP_TASK_REQUIRED)) {
		mcp_request_fail(r, MCP_METHOD_NOT_FOUND, 200, NULL, "the tool '%s' %s", tool->name,
				 wants ? "cannot be called as a task" : "must be called as a task");
		return MCP_TASK_FAILED;
	}
	return wants ? MCP_AS_TASK : MCP_NO_TASK;
}

/* ---- methods ---- */

/* The task that the request names; NULL: it has failed. */
static struct mcp_task *get(struct mcp_request *r)
{
	struct mcp_task *task;

	if (r->revision->modern && !client_has_tasks(r)) {
		refuse_without_tasks(r);
		return NULL;
	}
	task = find(r);
	if (task == NULL)
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL,
				 "there is no task with this id, or no longer");
	return task;
}

void mcp_serve_tasks_get(struct mcp_request *r)
{
	const struct mcp_task *task = get(r);

	if (task != NULL)
		mcp_request_succeed(r, task->modern ? describe_whole(task) : describe(task));
}

void mcp_serve_tasks_result(struct mcp_request *r)
{
	struct mcp_task *task = get(r);

	if (task == NULL)
		return;
	if (task->status != WORKING && task->status != INPUT_REQUIRED) {
		answer_waiting(r, task);
		return;
	}
	r->waits_for = task;
	if (task->call != NULL && task->call->unsent != NULL) {
		mcp_request_say(r, task->call->unsent);
		task->call->unsent = NULL;
	}
}

void mcp_serve_tasks_list(struct mcp_request *r)
{
	json_t *list = json_array();
	const struct mcp_task *task;

	TAILQ_FOREACH(task, &r->server->tasks->list, link)
		if (task->session == r->session)
			json_array_append_new(list, describe(task));
	mcp_request_succeed_page(r, "tasks", list);
}

void mcp_serve_tasks_cancel(struct mcp_request *r)
{
	struct mcp_task *task = get(r);

	if (task == NULL)
		return;
	if (!task->modern && task->call == NULL) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL, "the task is over already: %s",
				 status_names[task->status]);
		return;
	}
	cancel(task);
	mcp_request_succeed(r, task->modern ? json_object() : describe(task));
}

/* All questions have their answers: the row runs again from its start. */
static void run_again(struct mcp_task *task)
{
	struct mcp_call *call = task->call;

	json_decref(task->pending);
	task->pending = NULL;
	json_decref(call->questions);
	call->questions = NULL;
	json_array_clear(call->content);
	call->outcome = MCP_DONE;
	set_status(task, WORKING);
	mcp_call_start(call);
}

void mcp_serve_tasks_update(struct mcp_request *r)
{
	const json_t *given = json_object_get(r->params, "inputResponses");
	struct mcp_task *task = get(r);
	const char *key;
	json_t *answer;

	if (task == NULL)
		return;
	if (!json_is_object(given)) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL, "inputResponses must be an object");
		return;
	}
	if (task->status == INPUT_REQUIRED) {
		mcp_ask_take_answers(task->call->answers, task->pending, given);
		json_object_foreach(task->call->answers, key, answer)
			json_object_del(task->pending, key);
		if (json_object_size(task->pending) == 0)
			run_again(task);
	}
	mcp_request_succeed(r, json_object());
}
