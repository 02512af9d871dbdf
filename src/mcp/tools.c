/* SPDX-License-Identifier: MIT */
/* tools/list and tools/call. */
#include "mcp/core.h"

#include "base/auto.h"

#include <string.h>

static json_t *annotations(const struct mcp_tool *tool)
{
	return json_pack("{s:s*, s:b, s:b, s:b, s:b}", "title", tool->title, "readOnlyHint",
			 (tool->hints & MCP_READ_ONLY) != 0, "destructiveHint",
			 (tool->hints & MCP_DESTRUCTIVE) != 0, "idempotentHint",
			 (tool->hints & MCP_IDEMPOTENT) != 0, "openWorldHint",
			 (tool->hints & MCP_OPEN_WORLD) != 0);
}

static const char *task_support(const struct mcp_tool *tool)
{
	static const char *const names[] = {
		[MCP_TASK_FORBIDDEN] = "forbidden",
		[MCP_TASK_OPTIONAL] = "optional",
		[MCP_TASK_REQUIRED] = "required",
	};

	return names[tool->task];
}

/* A tool as the request's revision knows tools. */
static json_t *describe(const struct mcp_tool *tool, const struct mcp_revision *revision)
{
	json_t *item = json_pack("{s:s, s:s*, s:o}", "name", tool->name, "description",
				 tool->description, "inputSchema", mcp_tool_schema(tool));

	if (revision->annotations)
		json_object_set_new(item, "annotations", annotations(tool));
	if (revision->structured && tool->title != NULL)
		json_object_set_new(item, "title", json_string(tool->title));
	if (revision->structured && tool->output_schema != NULL)
		json_object_set_new(item, "outputSchema", json_loads(tool->output_schema, 0, NULL));
	if (revision->structured && tool->meta != NULL)
		json_object_set_new(item, "_meta", json_loads(tool->meta, 0, NULL));
	if (revision->tasks)
		json_object_set_new(item, "execution",
				    json_pack("{s:s}", "taskSupport", task_support(tool)));
	return item;
}

void mcp_serve_tools_list(struct mcp_request *r)
{
	const struct mcp_tool *tool = r->server->face->tools;
	json_t *list = json_array();

	for (; tool != NULL && tool->name != NULL; tool++)
		json_array_append_new(list, describe(tool, r->revision));
	mcp_request_succeed_page(r, "tools", list);
}

const struct mcp_tool *mcp_server_find_tool(const struct mcp_server *server, const char *name)
{
	const struct mcp_tool *tool = server->face->tools;

	for (; tool != NULL && name != NULL && tool->name != NULL; tool++)
		if (strcmp(tool->name, name) == 0)
			return tool;
	return NULL;
}

/* Bad arguments are something that a model can mend: where the revision lets us, it sees them. */
static void refuse_arguments(struct mcp_request *r, const char *why)
{
	if (!r->revision->input_errors_are_results) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL, "%s", why);
		return;
	}
	mcp_request_succeed(r, json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text",
					 mcp_text(why, strlen(why)), "isError", 1));
}

static void start(struct mcp_request *r, const struct mcp_tool *tool, json_t *arguments,
		  enum mcp_task_choice choice)
{
	struct mcp_call *call = mcp_call_new(r, MCP_CALL_TOOL);

	if (call == NULL) {
		json_decref(arguments);
		return;
	}
	call->tool = tool;
	call->arguments = arguments;
	if (!mcp_ask_resume(r, call))
		return;
	if (choice == MCP_AS_TASK)
		mcp_task_start(r, call);
	else if (choice == MCP_MAYBE_TASK)
		mcp_task_offer(call);
	else
		mcp_call_start(call);
}

void mcp_serve_tools_call(struct mcp_request *r)
{
	const char *name = mcp_get_string(r->params, "name");
	const struct mcp_tool *tool = mcp_server_find_tool(r->server, name);
	enum mcp_task_choice choice;
	json_t *arguments;
	char why[512];

	if (tool == NULL) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL,
				 "there is no tool '%.80s'; tools/list names those that there are",
				 name ? name : "");
		return;
	}
	choice = mcp_task_choose(r, tool);
	if (choice == MCP_TASK_FAILED)
		return;
	arguments = mcp_tool_arguments(tool, json_object_get(r->params, "arguments"), why, sizeof(why));
	if (arguments == NULL)
		refuse_arguments(r, why);
	else
		start(r, tool, arguments, choice);
}
