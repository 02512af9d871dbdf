/* SPDX-License-Identifier: MIT */
/* What languages there are and what each offers, in the original's forms. */
#include "base/auto.h"
#include "base/error.h"
#include "mcp/sandbox/details.h"

#include <errno.h>
#include <string.h>

/* Takes the reference. */
static int add_json(struct mcp_call *call, json_t *value, size_t indent, struct sbx_error *err)
{
	auto_free char *text =
		value ? json_dumps(value, JSON_PRESERVE_ORDER | JSON_INDENT(indent)) : NULL;

	json_decref(value);
	if (text == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot write the languages as JSON");
	mcp_call_add_text(call, text, strlen(text));
	return 0;
}

static int run_supported(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	return add_json(call, mcp_language_ids(call), 2, err);
}

static int run_details(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const char *language = json_string_value(json_object_get(arguments, "language"));
	json_t *details;
	int r = mcp_language_details(call, language, &details, err);

	if (r < 0 && err->code == SBX_E_NOT_FOUND) {
		mcp_call_set_error(call);
		return add_json(call,
				json_pack("{s:o}", "error",
					  json_sprintf("Unsupported language: %s", language)),
				0, err);
	}
	return r < 0 ? r : add_json(call, details, 2, err);
}

const struct mcp_tool mcp_tool_get_supported_languages = {
	.name = "get_supported_languages",
	.title = "List languages",
	.description = "The languages that execute_code takes, as a JSON array of names.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.run = run_supported,
};

static const struct mcp_argument detail_arguments[] = {
	{.name = "language",
	 .type = MCP_STRING,
	 .required = true,
	 .description = "A name of get_supported_languages, or another usual name, in any case"},
};

const struct mcp_tool mcp_tool_get_language_details = {
	.name = "get_language_details",
	.title = "Describe a language",
	.description =
		"What a sandbox offers for one language, as JSON: version, installed libraries, "
		"and examples that run.",
	.arguments = detail_arguments,
	.argument_count = 1,
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.run = run_details,
};
