/* SPDX-License-Identifier: MIT */
/* Sessions: made, listed, ended. */
#include "base/auto.h"
#include "base/error.h"
#include "mcp/sandbox/answer.h"
#include "mcp/sandbox/lease.h"
#include "mcp/sandbox/reply.h"
#include "mcp/sandbox/wishes.h"

#include <llmsandbox/language.h>

#include <string.h>

#define LISTED_MAX 100 /* ids of one call */

/* ---- a session as JSON ---- */

/* Properties that create_session and list_sessions share. */
#define SESSION_PROPERTIES                                                  \
	"\"session_id\": {\"type\": \"string\"},"                           \
	"\"label\": {\"type\": \"string\"},"                                \
	"\"language\": {\"type\": \"string\"},"                             \
	"\"created\": {\"type\": \"string\", \"format\": \"date-time\"},"   \
	"\"expires_in_seconds\": {\"type\": \"integer\", \"description\": " \
	"\"until it ends if nobody uses it\"},"                             \
	"\"ends_in_seconds\": {\"type\": \"integer\", \"description\": "    \
	"\"until it ends however it is used\"}"

static json_t *seconds(uint64_t ms)
{
	return ms == SBX_TIMEOUT_NONE ? NULL : json_integer((json_int_t)((ms + 999) / 1000));
}

static json_t *optional(const char *text)
{
	return text[0] != '\0' ? json_string(text) : NULL;
}

static json_t *describe(const struct sbx_session_info *info)
{
	json_t *object = json_pack("{s:s}", "session_id", info->id);

	mcp_set(object, "label", optional(info->label));
	mcp_set(object, "language", optional(info->language));
	mcp_set(object, "created", mcp_time(info->created));
	mcp_set(object, "expires_in_seconds", seconds(info->expires_in_ms));
	mcp_set(object, "ends_in_seconds", seconds(info->lifetime_left_ms));
	return object;
}

/* ---- create_session ---- */

/* "10 minutes", "90 seconds" */
static json_t *span(uint64_t ms)
{
	uint64_t s = (ms + 999) / 1000;
	bool whole = s >= 60 && s % 60 == 0;

	return json_sprintf("%llu %s%s", (unsigned long long)(whole ? s / 60 : s),
			    whole ? "minute" : "second", (whole ? s / 60 : s) == 1 ? "" : "s");
}

/* What a model should do with it. */
static json_t *advise(const struct sbx_session_info *info)
{
	json_t *idle = span(info->expires_in_ms), *life = span(info->lifetime_left_ms);
	json_t *text = json_sprintf(
		"Give session_id to execute_code, execute_command and the tools for files. The "
		"session "
		"ends, with all its files, after %s without a call, and in any case after %s; "
		"close_session ends it sooner.",
		json_string_value(idle), json_string_value(life));

	json_decref(idle);
	json_decref(life);
	return text;
}

static uint64_t get_ms(const json_t *arguments, const char *name)
{
	return 1000 * (uint64_t)json_integer_value(json_object_get(arguments, name));
}

static int find_language(const json_t *arguments, const char **ret, struct sbx_error *err)
{
	const char *name = json_string_value(json_object_get(arguments, "language"));
	const struct sbx_language_info *info = name ? sbx_language_find(name) : NULL;

	if (name != NULL && info == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND,
				"there is no language '%.64s'; get_supported_languages lists them",
				name);
	*ret = info ? info->id : NULL;
	return 0;
}

static int open_session(struct mcp_call *call, const json_t *arguments,
			struct sbx_session_info *ret, struct sbx_error *err)
{
	const struct mcp_sandbox *sandbox = mcp_call_userdata(call);
	struct sbx_registry_open how = {
		.label = json_string_value(json_object_get(arguments, "label")),
		.owner = mcp_owner(call),
		.idle_ms = get_ms(arguments, "idle_timeout"),
		.lifetime_ms = get_ms(arguments, "lifetime"),
	};
	int r = find_language(arguments, &how.language, err);

	if (r == 0)
		r = mcp_make_spec(&sandbox->environment, arguments, how.language, MCP_OUTPUT_MOST,
				  &how.spec, err);
	if (r < 0)
		return r;
	sbx_spec_set_cancel(how.spec, mcp_call_cancel(call));
	return sbx_registry_open(sandbox->registry, &how, ret, err);
}

static int await_sandbox(struct mcp_call *call, const struct sbx_session_info *info,
			 struct sbx_error *err)
{
	struct mcp_lease lease;
	int r = mcp_lease_begin_id(&lease, call, info->id, err);

	if (r < 0)
		return r;
	r = mcp_session_await(lease.session, err);
	r = mcp_lease_end(&lease, r, err);
	/* A client that went away meanwhile will not close it. */
	if (r == 0 && mcp_call_is_cancelled(call))
		r = sbx_fail(err, SBX_E_UNAVAILABLE, "cancelled");
	return r;
}

static void close_again(struct mcp_call *call, const struct sbx_session_info *info)
{
	const struct mcp_sandbox *sandbox = mcp_call_userdata(call);
	struct sbx_error ignored;

	sbx_registry_close(sandbox->registry, mcp_owner(call), info->id, &ignored);
}

static int run_create(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	struct sbx_session_info info;
	json_t *object;
	int r = open_session(call, arguments, &info, err);

	if (r < 0)
		return r;
	r = await_sandbox(call, &info, err);
	if (r < 0) {
		close_again(call, &info);
		return r;
	}
	object = describe(&info);
	mcp_set(object, "message", advise(&info));
	return mcp_reply(call, object, err);
}

static const struct mcp_argument create_arguments[] = {
	{.name = "language",
	 .type = MCP_STRING,
	 .nullable = true,
	 .description = "The language that you will mostly run, which makes it a little faster; "
			"others run too"},
	{.name = "label",
	 .type = MCP_STRING,
	 .nullable = true,
	 .max = 63,
	 .description = "A name for list_sessions"},
	{.name = "idle_timeout",
	 .type = MCP_INTEGER,
	 .nullable = true,
	 .min = 1,
	 .max = 604800,
	 .description = "Seconds without a call after which the session ends; at most, and by "
			"default, what the server gives"},
	{.name = "lifetime",
	 .type = MCP_INTEGER,
	 .nullable = true,
	 .min = 1,
	 .max = 604800,
	 .description =
		 "Seconds after which it ends in any case; at most, and by default, what the "
		 "server gives"},
	MCP_WISH_ARGUMENTS,
};

const struct mcp_tool mcp_tool_create_session = {
	.name = "create_session",
	.title = "Open a session",
	.description =
		"Open a sandbox that stays: files remain between calls, and variables in a kernel "
		"(execute_code's kernel); processes do not. Returns a session_id for execute_code, execute_command, the tools for files "
		"and "
		"install_libraries. Unless the server is set up otherwise, a session ends after 10 "
		"minutes without a call and 1 hour in all; the answer says what holds, and when it "
		"has "
		"ended, calls say so. Use it when steps build on each other; a single program "
		"needs no "
		"session.",
	.arguments = create_arguments,
	.argument_count = sizeof(create_arguments) / sizeof(create_arguments[0]),
	.output_schema = "{\"type\": \"object\", \"properties\": {" SESSION_PROPERTIES ","
			 "\"message\": {\"type\": \"string\", \"description\": \"when it ends, and "
			 "what to do "
			 "with it\"}}, \"required\": [\"session_id\", \"message\"]}",
	.run = run_create,
};

/* ---- close_session ---- */

static int run_close(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	struct mcp_sandbox *sandbox = mcp_call_userdata(call);
	const char *id = json_string_value(json_object_get(arguments, "session_id"));
	int r = mcp_check_session_id(id, err);

	if (r == 0)
		r = sbx_registry_close(sandbox->registry, mcp_owner(call), id, err);
	if (r < 0)
		return r;
	mcp_shelf_forget(&sandbox->shelf, id);
	return mcp_reply(call, json_pack("{s:s, s:b}", "session_id", id, "closed", 1), err);
}

static const struct mcp_argument close_arguments[] = {MCP_SESSION_ARGUMENT};

const struct mcp_tool mcp_tool_close_session = {
	.name = "close_session",
	.title = "End a session",
	.description = "End a session with all that is in it; a call that runs in it is killed.",
	.arguments = close_arguments,
	.argument_count = 1,
	.output_schema =
		"{\"type\": \"object\", \"properties\": {"
		"\"session_id\": {\"type\": \"string\"}, \"closed\": {\"type\": \"boolean\"}},"
		"\"required\": [\"session_id\", \"closed\"]}",
	.hints = MCP_DESTRUCTIVE,
	.run = run_close,
};

/* ---- list_sessions ---- */

static bool is_wanted(const json_t *ids, const char *id)
{
	const json_t *item;
	size_t i;

	json_array_foreach(ids, i, item)
	{
		if (strcmp(json_string_value(item), id) == 0)
			return true;
	}
	return false;
}

/* Where nobody knows whose a session is, only who has its id may see it. */
static json_t *describe_seen(const struct mcp_call *call, const json_t *ids,
			     const struct sbx_session_info *list, size_t count)
{
	bool all = !json_is_array(ids) && mcp_call_client(call) != NULL;
	json_t *seen = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *object;

		if (!all && !is_wanted(ids, list[i].id))
			continue;
		object = describe(&list[i]);
		mcp_set(object, "busy", json_boolean(list[i].busy));
		mcp_set(object, "operations", json_integer((json_int_t)list[i].operations));
		json_array_append_new(seen, object);
	}
	return seen;
}

static int run_list(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const struct mcp_sandbox *sandbox = mcp_call_userdata(call);
	const json_t *ids = json_object_get(arguments, "session_ids");
	auto_free struct sbx_session_info *list = NULL;
	size_t count = 0;
	json_t *object;
	int r;

	if (json_array_size(ids) > LISTED_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "session_ids: at most %d at once", LISTED_MAX);
	r = sbx_registry_list(sandbox->registry, mcp_owner(call), &list, &count, err);
	if (r < 0)
		return r;
	object = json_pack("{s:o}", "sessions", describe_seen(call, ids, list, count));
	if (mcp_call_client(call) == NULL && !json_is_array(ids))
		mcp_set(object, "message",
			json_string(
				"this connection does not tell whose sessions are whose: give the "
				"session_ids that you know"));
	return mcp_reply(call, object, err);
}

static const struct mcp_argument list_arguments[] = {
	{.name = "session_ids",
	 .type = MCP_STRINGS,
	 .nullable = true,
	 .description = "Only these; those that have ended are left out. Needed where the server "
			"cannot tell its clients apart, which its answer then says"},
};

const struct mcp_tool mcp_tool_list_sessions = {
	.name = "list_sessions",
	.title = "List sessions",
	.description =
		"Your open sessions, oldest first: their labels, whether a call runs in them, "
		"and when they end.",
	.arguments = list_arguments,
	.argument_count = 1,
	.output_schema =
		"{\"type\": \"object\", \"properties\": {\"sessions\": {\"type\": \"array\", "
		"\"items\": "
		"{\"type\": \"object\", \"properties\": {" SESSION_PROPERTIES ","
		"\"busy\": {\"type\": \"boolean\"}, \"operations\": {\"type\": \"integer\"}},"
		"\"required\": [\"session_id\", \"busy\"]}}, \"message\": {\"type\": \"string\"}},"
		"\"required\": [\"sessions\"]}",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.run = run_list,
};
