/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "mcp/sandbox/answer.h"
#include "mcp/sandbox/execute.h"
#include "mcp/sandbox/inside.h"

#include <llmsandbox/language.h>

static int run(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const char *name = json_string_value(json_object_get(arguments, "language"));
	const json_t *code = json_object_get(arguments, "code");
	const struct sbx_language_info *language = sbx_language_find(name);
	struct mcp_execution execution = {
		.code = json_string_value(code),
		.code_len = json_string_length(code),
		.libraries = json_object_get(arguments, "libraries"),
	};

	if (language == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND,
				"there is no language '%.64s'; get_supported_languages lists them",
				name);
	execution.language = language->id;
	return mcp_execute(call, &execution, arguments, err);
}

static const struct mcp_argument arguments[] = {
	{.name = "code",
	 .type = MCP_STRING,
	 .required = true,
	 .description = "The whole program; what it prints is the result"},
	{.name = "language",
	 .type = MCP_STRING,
	 .fallback = "\"python\"",
	 .description =
		 "python, java, javascript, cpp, go, ruby or r, or another usual name, in any "
		 "case"},
	{.name = "libraries",
	 .type = MCP_STRINGS,
	 .nullable = true,
	 .fallback = "null",
	 .description =
		 "Libraries that the code needs, as the language's package manager writes them "
		 "(\"numpy\", \"lodash@4\"). Those that do not come with the language are "
		 "installed first, and kept for later calls; when that fails the code does not "
		 "run and the error has the installer's words"},
	MCP_EXECUTE_ARGUMENTS,
};

const struct mcp_tool mcp_tool_execute_code = {
	.name = "execute_code",
	.title = "Run code",
	.description =
		"Run a program in an isolated sandbox and get its exit code, stdout and stderr. It "
		"does "
		"not see the user's files, and no network unless you ask for one (network, allow) "
		"that "
		"the server allows. Nothing is kept between calls, but for the files of a session "
		"(session_id): give all inputs with the call (stdin, args, files) and print what "
		"you "
		"want to know. A program that fails is a normal result; look at exit_code, reason "
		"and "
		"stderr.",
	.arguments = arguments,
	.argument_count = sizeof(arguments) / sizeof(arguments[0]),
	.output_schema = mcp_answer_schema,
	.meta = MCP_ANSWER_META,
	.task = MCP_TASK_OPTIONAL,
	.run = run,
};
