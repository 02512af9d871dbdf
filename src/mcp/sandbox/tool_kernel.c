/* SPDX-License-Identifier: MIT */
/* Kernels of a session: looked at, interrupted, started anew, ended. */
#include "base/auto.h"
#include "base/error.h"
#include "mcp/sandbox/clip.h"
#include "mcp/sandbox/lease.h"
#include "mcp/sandbox/reply.h"

#include <llmsandbox/kernel.h>

#include <string.h>

#define CODE_MOST    4000		/* characters of each cell that are told */
#define HISTORY_MOST ((size_t)64 << 10) /* bytes of code in an answer */

/* What an action is given, and adds to. */
struct act {
	struct mcp_call *call;
	const json_t *arguments;
	struct sbx_session *session;
	const char *kernel; /* NULL where the action needs none */
	json_t *object;	    /* of the answer */
};

struct action {
	const char *name;
	bool of_all;	     /* needs no kernel */
	bool takes_turn;     /* waits until nothing else runs in the session */
	enum mcp_urgency urgency;
	const char *message; /* when it is done, or NULL */
	int (*run)(struct act *act, struct sbx_error *err);
};

/* ---- actions ---- */

static int restart(struct act *act, struct sbx_error *err)
{
	return sbx_kernel_restart(act->session, act->kernel, err);
}

static int interrupt(struct act *act, struct sbx_error *err)
{
	return sbx_kernel_interrupt(act->session, act->kernel, err);
}

static int reset(struct act *act, struct sbx_error *err)
{
	return sbx_kernel_reset(act->session, act->kernel, err);
}

static int end(struct act *act, struct sbx_error *err)
{
	return sbx_kernel_end(act->session, act->kernel, err);
}

static json_t *describe_kernel(const struct sbx_kernel_info *info)
{
	json_t *object = json_pack("{s:s, s:s}", "name", info->name, "language", info->language);

	if (info->version[0] != '\0')
		mcp_set(object, "version", mcp_program_text(info->version));
	mcp_set(object, "alive", json_boolean(info->alive));
	mcp_set(object, "busy", json_boolean(info->busy));
	mcp_set(object, "cells", json_integer(info->cells));
	mcp_set(object, "starts", json_integer(info->starts));
	return object;
}

static int list(struct act *act, struct sbx_error *err)
{
	auto_free struct sbx_kernel_info *kernels = NULL;
	json_t *array;
	size_t count = 0;
	int r = sbx_kernel_list(act->session, &kernels, &count, err);

	if (r < 0)
		return r;
	array = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, describe_kernel(&kernels[i]));
	mcp_set(act->object, "kernels", array);
	return 0;
}

static json_t *cut(const char *text)
{
	struct sbx_output output = {.data = (char *)text, .len = strlen(text)};
	bool ignored;

	output.head_len = output.total_bytes = output.len;
	return mcp_clip(&output, CODE_MOST, &ignored);
}

static json_t *describe_cell(const struct sbx_cell *cell)
{
	json_t *object = json_pack("{s:I, s:o}", "number", (json_int_t)cell->number, "code",
				   cut(cell->code));

	if (cell->value != NULL)
		mcp_set(object, "value", cut(cell->value));
	mcp_set(object, "exit_code", json_integer(cell->exit_code));
	mcp_set(object, "duration_ms", json_real((double)(cell->run_ns / 10000) / 100));
	return object;
}

/* The index of the first of the last cells that are asked for and may be told. */
static size_t find_first(const struct sbx_cell *cells, size_t count, size_t last)
{
	size_t first = count, bytes = 0;

	while (first > 0 && count - first < last) {
		bytes += strlen(cells[first - 1].code);
		if (bytes > HISTORY_MOST && first < count)
			break;
		first--;
	}
	return first;
}

static int history(struct act *act, struct sbx_error *err)
{
	size_t last = (size_t)json_integer_value(json_object_get(act->arguments, "last"));
	struct sbx_cell *cells = NULL;
	json_t *array;
	size_t count = 0;
	int r = sbx_kernel_history(act->session, act->kernel, &cells, &count, err);

	if (r < 0)
		return r;
	array = json_array();
	for (size_t i = find_first(cells, count, last); i < count; i++)
		json_array_append_new(array, describe_cell(&cells[i]));
	sbx_cells_free(cells, count);
	mcp_set(act->object, "cells", array);
	return 0;
}

static const struct action actions[] = {
	{"list", true, false, MCP_INSTANT, NULL, list},
	{"history", false, false, MCP_INSTANT, NULL, history},
	{"interrupt", false, false, MCP_INSTANT,
	 "a cell that ran is interrupted; the variables are kept", interrupt},
	{"restart", false, false, MCP_URGENT,
	 "it runs anew: its variables, imports and functions are gone", restart},
	{"reset", false, true, MCP_PATIENT, "its variables, imports and functions are gone", reset},
	{"end", false, false, MCP_URGENT, "it is gone, with its history", end},
};

static const char *const action_names[] = {"list",  "history", "interrupt", "restart",
					   "reset", "end",     NULL};

#define ACTIONS (sizeof(actions) / sizeof(actions[0]))
_Static_assert(ACTIONS + 1 == sizeof(action_names) / sizeof(action_names[0]), "each has its name");

static const struct action *find_action(const json_t *arguments)
{
	const char *name = json_string_value(json_object_get(arguments, "action"));

	for (size_t i = 0; name != NULL && i < ACTIONS; i++) {
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	}
	return NULL;
}

static enum mcp_urgency urgency(const json_t *arguments)
{
	const struct action *action = find_action(arguments);

	return action != NULL ? action->urgency : MCP_PATIENT;
}

/* ---- the session ---- */

static int act_in_turn(const struct action *action, struct act *act, struct sbx_error *err)
{
	struct mcp_lease lease;
	int r = mcp_lease_begin(&lease, act->call, act->arguments, err);

	if (r < 0)
		return r;
	act->session = lease.session;
	return mcp_lease_end(&lease, action->run(act, err), err);
}

/* Beside a cell that runs: that is what it is for. */
static int act_at_once(const struct action *action, struct act *act, struct sbx_error *err)
{
	const struct mcp_sandbox *sandbox = mcp_call_userdata(act->call);
	const char *id = json_string_value(json_object_get(act->arguments, "session_id"));
	struct sbx_error why;
	int r = mcp_check_session_id(id, err);

	if (r == 0)
		r = sbx_registry_acquire(sandbox->registry, mcp_owner(act->call), id, &act->session,
					 err);
	if (r < 0)
		return r;
	r = action->run(act, err);
	if (r < 0 && sbx_registry_check(sandbox->registry, act->session, &why) < 0)
		*err = why;
	sbx_registry_release(sandbox->registry, act->session);
	return r;
}

static int run(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const struct action *action = find_action(arguments);
	struct act act = {
		.call = call,
		.arguments = arguments,
		.kernel = json_string_value(json_object_get(arguments, "kernel")),
	};
	int r;

	if (action == NULL)
		return sbx_fail(err, SBX_E_INVALID, "there is no such action");
	if (act.kernel == NULL && !action->of_all)
		return sbx_fail(err, SBX_E_INVALID,
				"%s needs the name of a kernel; list tells those of the session",
				action->name);
	act.object = json_pack("{s:s, s:s*}", "action", action->name, "kernel", act.kernel);
	r = action->takes_turn ? act_in_turn(action, &act, err) : act_at_once(action, &act, err);
	if (r < 0) {
		json_decref(act.object);
		return r;
	}
	if (action->message != NULL)
		mcp_set(act.object, "message", json_string(action->message));
	return mcp_reply(call, act.object, err);
}

static const struct mcp_argument arguments[] = {
	MCP_SESSION_ARGUMENT,
	{.name = "action",
	 .type = MCP_STRING,
	 .required = true,
	 .choices = action_names,
	 .description =
		 "list: the session's kernels; history: its last cells; interrupt: end the cell "
		 "that "
		 "runs and keep the variables; restart: a new process, also when it hangs; reset: "
		 "forget variables, after what runs; end: remove it"},
	{.name = "kernel",
	 .type = MCP_STRING,
	 .nullable = true,
	 .min = 1,
	 .max = 63,
	 .description = "Its name; for every action but list"},
	{.name = "last",
	 .type = MCP_INTEGER,
	 .fallback = "20",
	 .min = 1,
	 .max = 1000,
	 .description = "How many cells of the history"},
};

const struct mcp_tool mcp_tool_manage_kernel = {
	.name = "manage_kernel",
	.title = "Manage kernels",
	.description =
		"Look at, interrupt, restart, reset or end the kernels of a session (those that "
		"execute_code's kernel started). All but reset act at once, also while its cell "
		"runs; restart and end then wait for cells of other kernels in the session.",
	.arguments = arguments,
	.argument_count = sizeof(arguments) / sizeof(arguments[0]),
	.output_schema =
		"{\"type\": \"object\", \"properties\": {\"action\": {\"type\": \"string\"}, "
		"\"kernel\": {\"type\": \"string\"}, \"message\": {\"type\": \"string\"}, "
		"\"kernels\": {\"type\": \"array\", \"items\": {\"type\": \"object\", "
		"\"properties\": {\"name\": {\"type\": \"string\"}, \"language\": {\"type\": "
		"\"string\"}, \"version\": {\"type\": \"string\"}, \"alive\": {\"type\": "
		"\"boolean\", \"description\": \"its next cell finds its variables\"}, \"busy\": "
		"{\"type\": \"boolean\", \"description\": \"a cell runs\"}, \"cells\": {\"type\": "
		"\"integer\"}, \"starts\": {\"type\": \"integer\"}}, \"required\": [\"name\", "
		"\"language\", \"alive\", \"busy\"]}}, \"cells\": {\"type\": \"array\", "
		"\"description\": \"oldest first\", \"items\": {\"type\": \"object\", "
		"\"properties\": {\"number\": {\"type\": \"integer\"}, \"code\": {\"type\": "
		"\"string\"}, \"value\": {\"type\": \"string\"}, \"exit_code\": {\"type\": "
		"\"integer\"}, \"duration_ms\": {\"type\": \"number\"}}, \"required\": "
		"[\"number\", \"code\", \"exit_code\"]}}}, \"required\": [\"action\"]}",
	.hints = MCP_DESTRUCTIVE,
	.urgency = urgency,
	.run = run,
};
