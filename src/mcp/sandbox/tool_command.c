/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "mcp/sandbox/answer.h"
#include "mcp/sandbox/execute.h"
#include "mcp/sandbox/inside.h"

#include <string.h>

static int run(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const json_t *command = json_object_get(arguments, "command");
	struct mcp_execution execution = {.code = json_string_value(command)};

	if (execution.code[0] == '\0')
		return sbx_fail(err, SBX_E_INVALID, "there is no command to run: it is empty");
	if (strlen(execution.code) != json_string_length(command))
		return sbx_fail(err, SBX_E_INVALID, "the command has a NUL character");
	return mcp_execute(call, &execution, arguments, err);
}

static const struct mcp_argument arguments[] = {
	{.name = "command",
	 .type = MCP_STRING,
	 .required = true,
	 .description = "A command line for /bin/sh -c; args are its $1, $2 and so on"},
	MCP_EXECUTE_ARGUMENTS,
};

const struct mcp_tool mcp_tool_execute_command = {
	.name = "execute_command",
	.title = "Run a shell command",
	.description =
		"Run a shell command line in an isolated sandbox with the usual Unix tools and get "
		"its "
		"exit code, stdout and stderr. It does not see the user's files, and no network "
		"unless "
		"you ask for one (network, allow) that the server allows. Nothing is kept between "
		"calls, but for the files of a session (session_id).",
	.arguments = arguments,
	.argument_count = sizeof(arguments) / sizeof(arguments[0]),
	.output_schema = mcp_answer_schema,
	.meta = MCP_ANSWER_META,
	.task = MCP_TASK_OPTIONAL,
	.run = run,
};
