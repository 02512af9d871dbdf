/* SPDX-License-Identifier: MIT */
/* What is known of languages, and files of sessions, for clients that show resources. */
#include "base/auto.h"
#include "base/error.h"
#include "mcp/sandbox/details.h"
#include "mcp/sandbox/file_uri.h"

#include <errno.h>
#include <string.h>

#define PREFIX "sandbox://languages/"

/* Takes the reference. */
static int add_json(struct mcp_call *call, const char *uri, json_t *value, struct sbx_error *err)
{
	auto_free char *text =
		value ? json_dumps(value, JSON_PRESERVE_ORDER | JSON_INDENT(2)) : NULL;

	json_decref(value);
	if (text == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot write the languages as JSON");
	mcp_call_add_contents(call, uri, "application/json", text, strlen(text));
	return 0;
}

static int read_all(struct mcp_call *call, const char *uri, const char *variable,
		    struct sbx_error *err)
{
	json_t *all;
	int r = mcp_all_details(call, &all, err);

	(void)variable;
	return r < 0 ? r : add_json(call, uri, all, err);
}

static int read_one(struct mcp_call *call, const char *uri, const char *variable,
		    struct sbx_error *err)
{
	const char *language = variable ? variable : uri + strlen(PREFIX);
	json_t *details;
	int r = mcp_language_details(call, language, &details, err);

	return r < 0 ? r : add_json(call, uri, details, err);
}

static void complete(const char *variable, const char *prefix, json_t *values)
{
	(void)variable;
	mcp_complete_language(prefix, values);
}

#define LANGUAGE(id, label)                                                       \
	{                                                                         \
		.uri = PREFIX id, .name = id, .title = label,                     \
		.description = "What a sandbox offers for " label " programs",    \
		.mime_type = "application/json", .read = read_one                 \
	}

const struct mcp_resource mcp_sandbox_resources[] = {
	{
		.uri = "sandbox://languages",
		.name = "language_details",
		.title = "All languages",
		.description = "Versions, libraries and examples of all languages, by name",
		.mime_type = "application/json",
		.read = read_all,
	},
	LANGUAGE("python", "Python"),
	LANGUAGE("java", "Java"),
	LANGUAGE("javascript", "JavaScript"),
	LANGUAGE("cpp", "C++"),
	LANGUAGE("go", "Go"),
	LANGUAGE("ruby", "Ruby"),
	LANGUAGE("r", "R"),
	{
		.uri = PREFIX "{language}",
		.name = "language",
		.title = "One language",
		.description = "Version, libraries and examples of a language",
		.mime_type = "application/json",
		.read = read_one,
		.complete = complete,
	},
	{
		.uri = MCP_FILE_URI_TEMPLATE,
		.name = "session_file",
		.title = "A file of a session",
		.description = "A file that a program or you put into a session, up to 8 MiB; path is "
			       "relative to the working folder, or absolute with %2F first",
		.deep = true,
		.read = mcp_read_file_resource,
	},
	{
		.uri = MCP_ARTIFACT_URI_TEMPLATE,
		.name = "session_artifact",
		.title = "An artifact of a session",
		.description = "A plot, or a file that a run made, by the number that the run's answer "
			       "gives it; up to 8 MiB, as it is now",
		.read = mcp_read_artifact_resource,
	},
	{.uri = NULL},
};
