/* SPDX-License-Identifier: MIT */
/* Tools that may become tasks, and those that must. */
#include "mcp/fixture.h"

#include "base/error.h"

#include <string.h>

static int greet(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)err;
	fixture_add_text(call, "Hello, %s!", json_string_value(json_object_get(arguments, "name")));
	return MCP_DONE;
}

static int slow_compute(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	double seconds = json_number_value(json_object_get(arguments, "seconds"));

	if (!fixture_pause(call, (unsigned int)(seconds * 1000)))
		return sbx_fail(err, SBX_E_INVALID, "cancelled");
	fixture_add_text(call, "Computed for %g seconds.", seconds);
	return MCP_DONE;
}

static int failing_job(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	fixture_pause(call, 200);
	return sbx_fail(err, SBX_E_INVALID, "this job always fails");
}

static int protocol_error_job(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	fixture_pause(call, 100);
	mcp_call_refuse(call, -32603, "this job always breaks", NULL);
	return MCP_DONE;
}

static int ask(struct mcp_call *call, const char *key, const char *message, json_t **ret,
	       struct sbx_error *err)
{
	return mcp_call_ask(call, key, "elicitation/create",
			    fixture_elicitation(message,
						"{\"name\": {\"type\": \"string\"},"
						" \"confirm\": {\"type\": \"boolean\"}}",
						"[]"),
			    ret, err);
}

static bool is_confirmed(const json_t *answer)
{
	return json_is_true(json_object_get(json_object_get(answer, "content"), "confirm"));
}

static int confirm_delete(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const char *filename = json_string_value(json_object_get(arguments, "filename"));
	json_t *answer = NULL;
	int r = ask(call, "confirm", "Delete the file?", &answer, err);

	if (r != MCP_DONE)
		return r;
	fixture_add_text(call, is_confirmed(answer) ? "%s would be deleted." : "%s stays.",
			 filename);
	json_decref(answer);
	return MCP_DONE;
}

static int multi_input(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	json_t *first = NULL, *second = NULL;
	int r = ask(call, "first", "And the first?", &first, err), q;

	(void)arguments;
	if (r < 0)
		return r;
	q = ask(call, "second", "And the second?", &second, err);
	if (r == MCP_DONE && q == MCP_DONE)
		fixture_add_text(call, "%d confirmed.", is_confirmed(first) + is_confirmed(second));
	json_decref(first);
	json_decref(second);
	return q < 0 ? q : r == MCP_DONE ? q : r;
}

/* Asks before it is a task: the client must answer to get one. */
static int tool_with_task(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	json_t *answer = NULL;
	const char *name;
	int r = ask(call, "user_name", "What is your name?", &answer, err);

	(void)arguments;
	if (r != MCP_DONE)
		return r;
	name = json_string_value(json_object_get(json_object_get(answer, "content"), "name"));
	fixture_pause(call, 200);
	fixture_add_text(call, "Hello, %s, from a task.", name ? name : "whoever you are");
	json_decref(answer);
	return MCP_DONE;
}

static const struct mcp_argument name_arguments[] = {
	{.name = "name", .type = MCP_STRING, .required = true, .description = "Who is greeted."},
};

static const struct mcp_argument compute_arguments[] = {
	{.name = "seconds",
	 .type = MCP_NUMBER,
	 .required = true,
	 .min = 0,
	 .max = 3600,
	 .description = "How long it takes."},
	{.name = "label", .type = MCP_STRING, .description = "Any text."},
};

static const struct mcp_argument filename_arguments[] = {
	{.name = "filename",
	 .type = MCP_STRING,
	 .required = true,
	 .description = "What would be deleted."},
};

const struct mcp_tool fixture_task_tools[] = {
	{.name = "greet",
	 .description = "Greets at once.",
	 .arguments = name_arguments,
	 .argument_count = 1,
	 .run = greet},
	{.name = "slow_compute",
	 .description = "Takes its time.",
	 .arguments = compute_arguments,
	 .argument_count = 2,
	 .task = MCP_TASK_OPTIONAL,
	 .run = slow_compute},
	{.name = "failing_job",
	 .description = "Fails, as a task.",
	 .task = MCP_TASK_REQUIRED,
	 .run = failing_job},
	{.name = "protocol_error_job",
	 .description = "Breaks, as a task.",
	 .task = MCP_TASK_REQUIRED,
	 .run = protocol_error_job},
	{.name = "confirm_delete",
	 .description = "Asks while it is a task.",
	 .arguments = filename_arguments,
	 .argument_count = 1,
	 .task = MCP_TASK_OPTIONAL,
	 .run = confirm_delete},
	{.name = "multi_input",
	 .description = "Asks two things at once.",
	 .task = MCP_TASK_OPTIONAL,
	 .run = multi_input},
	{.name = "test_tool_with_task",
	 .description = "Asks, then becomes a task.",
	 .task = MCP_TASK_REQUIRED,
	 .task_after_input = true,
	 .run = tool_with_task},
	{0},
};
