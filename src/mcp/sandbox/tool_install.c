/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "mcp/sandbox/install.h"
#include "mcp/sandbox/lease.h"
#include "mcp/sandbox/reply.h"

#include <llmsandbox/language.h>

static int install(struct mcp_call *call, const json_t *arguments, const char *language,
		   struct mcp_watch *watch, struct mcp_installed *ret, struct sbx_error *err)
{
	struct mcp_lease lease;
	int r = mcp_lease_begin(&lease, call, arguments, err);

	if (r < 0)
		return r;
	r = mcp_install_libraries(call, lease.session, language,
				  json_object_get(arguments, "libraries"), watch, ret, err);
	return mcp_lease_end(&lease, r, err);
}

static int run(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const char *name = json_string_value(json_object_get(arguments, "language"));
	const struct sbx_language_info *language = sbx_language_find(name);
	struct mcp_installed installed = {0};
	struct mcp_watch watch;
	json_t *object;
	int r;

	if (language == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND,
				"there is no language '%.64s'; get_supported_languages lists them",
				name);
	if (json_array_size(json_object_get(arguments, "libraries")) == 0)
		return sbx_fail(err, SBX_E_INVALID,
				"there is nothing to install: libraries is empty");
	mcp_watch_begin(&watch, call);
	r = install(call, arguments, language->id, &watch, &installed, err);
	mcp_watch_end(&watch);
	if (r < 0)
		return r;
	object = json_pack("{s:s, s:O}", "language", language->id, "libraries", installed.versions);
	mcp_set(object, "packages", json_incref(installed.packages));
	mcp_installed_done(&installed);
	return mcp_reply(call, object, err);
}

static const struct mcp_argument arguments[] = {
	MCP_SESSION_ARGUMENT,
	{.name = "language",
	 .type = MCP_STRING,
	 .fallback = "\"python\"",
	 .description = "The language whose package manager installs them"},
	{.name = "libraries",
	 .type = MCP_STRINGS,
	 .required = true,
	 .description =
		 "As the package manager writes them: \"numpy\", \"requests>=2\" (python), "
		 "\"lodash@4\" (javascript), \"rack:2.2.4\" (ruby), \"jsonlite\" (r), "
		 "\"github.com/google/uuid@v1.6.0\" (go), \"org.slf4j:slf4j-api:2.0.9\" (java), "
		 "\"libfmt-dev\" (cpp)"},
};

const struct mcp_tool mcp_tool_install_libraries = {
	.name = "install_libraries",
	.title = "Install libraries",
	.description =
		"Install libraries for the later programs of a session, in one language. They are "
		"installed once and kept, so that the same ones are there at once the next time. "
		"The "
		"installer reaches the package manager's hosts; the session's own network stays as "
		"it "
		"is. When the installer fails the error has its own words.",
	.arguments = arguments,
	.argument_count = sizeof(arguments) / sizeof(arguments[0]),
	.output_schema =
		"{\"type\": \"object\", \"properties\": {\"language\": {\"type\": \"string\"}, "
		"\"libraries\": {\"type\": \"object\", \"description\": \"what was asked for, and "
		"its "
		"version\"}, \"packages\": {\"type\": \"array\", \"description\": \"all that is "
		"installed for it\", \"items\": {\"type\": \"object\", \"properties\": {\"name\": "
		"{\"type\": \"string\"}, \"version\": {\"type\": \"string\"}}}}}, "
		"\"required\": [\"language\", \"libraries\"]}",
	.hints = MCP_IDEMPOTENT | MCP_OPEN_WORLD,
	.task = MCP_TASK_OPTIONAL,
	.run = run,
};
