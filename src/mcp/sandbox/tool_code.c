/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "mcp/sandbox/answer.h"
#include "mcp/sandbox/execute.h"
#include "mcp/sandbox/inside.h"

#include <llmsandbox/language.h>

/* What a cell cannot have, in words of the arguments. */
static int check_cell(const json_t *arguments, struct sbx_error *err)
{
	if (!json_is_string(json_object_get(arguments, "session_id")))
		return sbx_fail(err, SBX_E_INVALID,
				"a kernel lives in a session: call create_session first, and give "
				"its session_id with each cell");
	if (json_is_string(json_object_get(arguments, "stdin")))
		return sbx_fail(err, SBX_E_INVALID,
				"a kernel's cell has no stdin: put the input in the code or in files");
	if (json_array_size(json_object_get(arguments, "args")) > 0)
		return sbx_fail(err, SBX_E_INVALID,
				"a kernel's cell has no args: put their values in the code");
	return 0;
}

static int run(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const char *name = json_string_value(json_object_get(arguments, "language"));
	const json_t *code = json_object_get(arguments, "code");
	const struct sbx_language_info *language = sbx_language_find(name);
	struct mcp_execution execution = {
		.code = json_string_value(code),
		.code_len = json_string_length(code),
		.libraries = json_object_get(arguments, "libraries"),
		.kernel = json_string_value(json_object_get(arguments, "kernel")),
	};

	if (language == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND,
				"there is no language '%.64s'; get_supported_languages lists them",
				name);
	execution.language = language->id;
	if (execution.kernel != NULL && check_cell(arguments, err) < 0)
		return -(int)err->code;
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
	{.name = "kernel",
	 .type = MCP_STRING,
	 .nullable = true,
	 .fallback = "null",
	 .min = 1,
	 .max = 63,
	 .description =
		 "A name, such as main, of a live interpreter in the session (session_id), which "
		 "keeps variables, imports and functions from call to call; its first cell starts "
		 "it, and one that times out is interrupted and keeps them. For python, javascript, "
		 "ruby, r and java; without it the program is one of its own"},
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
		"(session_id) and the variables of a kernel in it: give all inputs with the call "
		"(stdin, args, files) and print what you want to know. Plots that are shown, and "
		"images, documents and tables that are written, come with the answer. A program "
		"that fails is a normal result; look at exit_code, reason and stderr.",
	.arguments = arguments,
	.argument_count = sizeof(arguments) / sizeof(arguments[0]),
	.output_schema = mcp_answer_schema,
	.meta = MCP_ANSWER_META,
	.task = MCP_TASK_OPTIONAL,
	.run = run,
};
