/* SPDX-License-Identifier: MIT */
/* Tools that answer: every kind of content, errors, logs, progress, schemas. */
#include "mcp/fixture.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- content ---- */

static int simple_text(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	fixture_add_text(call, "This is a simple text response for testing.");
	return MCP_DONE;
}

static int image(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	mcp_call_add_image(call, "image/png", fixture_png, fixture_png_len);
	return MCP_DONE;
}

static int audio(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	mcp_call_add_item(call, json_pack("{s:s, s:s, s:s}", "type", "audio", "data",
					  FIXTURE_WAV_BASE64, "mimeType", "audio/wav"));
	return MCP_DONE;
}

static json_t *make_embedded(const char *uri, const char *mime_type, const char *text)
{
	return json_pack("{s:s, s:{s:s, s:s, s:s}}", "type", "resource", "resource", "uri", uri,
			 "mimeType", mime_type, "text", text);
}

static int embedded(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	mcp_call_add_item(call, make_embedded("test://embedded-resource", "text/plain",
					      "This is an embedded resource content."));
	return MCP_DONE;
}

static int mixed(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	fixture_add_text(call, "Multiple content types test:");
	mcp_call_add_image(call, "image/png", fixture_png, fixture_png_len);
	mcp_call_add_item(call, make_embedded("test://mixed-content-resource", "application/json",
					      "{\"test\":\"data\",\"value\":123}"));
	return MCP_DONE;
}

static int fails(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)call;
	(void)arguments;
	return sbx_fail(err, SBX_E_INVALID, "This tool intentionally returns an error for testing");
}

/* ---- on the way ---- */

static int logs(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	mcp_call_log(call, "info", "fixture", json_string("Tool execution started"));
	fixture_pause(call, 50);
	mcp_call_log(call, "info", "fixture", json_string("Tool processing data"));
	fixture_pause(call, 50);
	mcp_call_log(call, "info", "fixture", json_string("Tool execution completed"));
	fixture_add_text(call, "Three messages were logged.");
	return MCP_DONE;
}

static int progresses(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	mcp_call_progress(call, 0, 100, "begun");
	fixture_pause(call, 50);
	mcp_call_progress(call, 50, 100, NULL);
	fixture_pause(call, 50);
	mcp_call_progress(call, 100, 100, "done");
	fixture_add_text(call, "Progress was reported three times.");
	return MCP_DONE;
}

static int trigger_tools(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	mcp_server_list_changed(mcp_call_server(call), MCP_TOOLS);
	fixture_add_text(call, "The list of tools is said to have changed.");
	return MCP_DONE;
}

static int trigger_prompts(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	mcp_server_list_changed(mcp_call_server(call), MCP_PROMPTS);
	fixture_add_text(call, "The list of prompts is said to have changed.");
	return MCP_DONE;
}

static int touch_watched(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	mcp_server_resource_updated(mcp_call_server(call), "test://watched-resource");
	fixture_add_text(call, "The watched resource is said to have changed.");
	return MCP_DONE;
}

/* ---- arguments ---- */

static int echo(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	char *text = json_dumps(arguments, JSON_SORT_KEYS);

	(void)err;
	mcp_call_add_text(call, text ? text : "", text ? strlen(text) : 0);
	mcp_call_set_structured(call, json_deep_copy(arguments));
	free(text);
	return MCP_DONE;
}

/* The marker is there exactly while the call runs, so that a test sees when it begins and ends. */
static int endless(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const char *marker = json_string_value(json_object_get(arguments, "marker"));
	FILE *f = fopen(marker, "w");

	if (f == NULL)
		return sbx_fail(err, SBX_E_INVALID, "cannot make '%s'", marker);
	fclose(f);
	while (fixture_pause(call, 1000))
		;
	unlink(marker);
	return sbx_fail(err, SBX_E_INVALID, "cancelled");
}

static const char *const colours[] = {"red", "green", NULL};

static const struct mcp_argument echo_arguments[] = {
	{.name = "text", .type = MCP_STRING, .required = true, .description = "Any text."},
	{.name = "count",
	 .type = MCP_INTEGER,
	 .min = 1,
	 .max = 10,
	 .fallback = "3",
	 .description = "From 1 to 10."},
	{.name = "ratio", .type = MCP_NUMBER, .nullable = true, .description = "A number or null."},
	{.name = "flag", .type = MCP_BOOLEAN, .fallback = "false", .description = "Yes or no."},
	{.name = "words", .type = MCP_STRINGS, .description = "A list of strings."},
	{.name = "names", .type = MCP_STRING_MAP, .description = "Strings by name."},
	{.name = "colour",
	 .type = MCP_STRING,
	 .choices = colours,
	 .fallback = "\"red\"",
	 .description = "One of a few."},
};

static const struct mcp_argument endless_arguments[] = {
	{.name = "marker",
	 .type = MCP_STRING,
	 .required = true,
	 .description = "Path of a file that is there while the call runs."},
};

static const struct mcp_argument region_arguments[] = {
	{.name = "region",
	 .type = MCP_STRING,
	 .header = "Region",
	 .description = "Mirrored by the header Mcp-Param-Region."},
};

static const char schema_2020_12[] =
	"{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\", \"type\": \"object\","
	" \"$defs\": {\"address\": {\"$anchor\": \"addressDef\", \"type\": \"object\","
	"  \"properties\": {\"street\": {\"type\": \"string\"}, \"city\": {\"type\": "
	"\"string\"}}}},"
	" \"properties\": {\"name\": {\"type\": \"string\"},"
	"  \"address\": {\"$ref\": \"#/$defs/address\"},"
	"  \"contactMethod\": {\"type\": \"string\", \"enum\": [\"phone\", \"email\"]},"
	"  \"phone\": {\"type\": \"string\"}, \"email\": {\"type\": \"string\"}},"
	" \"allOf\": [{\"anyOf\": [{\"required\": [\"phone\"]}, {\"required\": [\"email\"]}]}],"
	" \"if\": {\"properties\": {\"contactMethod\": {\"const\": \"phone\"}},"
	"  \"required\": [\"contactMethod\"]},"
	" \"then\": {\"required\": [\"phone\"]}, \"else\": {\"required\": [\"email\"]},"
	" \"additionalProperties\": false}";

#define ARGUMENTS(rows) .arguments = (rows), .argument_count = sizeof(rows) / sizeof((rows)[0])

/* The suite calls the first of the list without arguments: it must not need any. */
const struct mcp_tool fixture_content_tools[] = {
	{.name = "test_simple_text",
	 .description = "Answers with a text.",
	 .run = simple_text,
	 .hints = MCP_READ_ONLY},
	{.name = "test_image_content", .description = "Answers with an image.", .run = image},
	{.name = "test_audio_content", .description = "Answers with a sound.", .run = audio},
	{.name = "test_embedded_resource",
	 .description = "Answers with a resource.",
	 .run = embedded},
	{.name = "test_multiple_content_types",
	 .description = "Answers with a bit of everything.",
	 .run = mixed},
	{.name = "test_error_handling", .description = "Always fails.", .run = fails},
	{.name = "test_tool_with_logging", .description = "Logs three messages.", .run = logs},
	{.name = "test_logging_tool",
	 .description = "Logs for those who asked for it.",
	 .run = logs},
	{.name = "test_reconnection",
	 .description = "Logs, so that its answer is a stream.",
	 .run = logs},
	{.name = "test_tool_with_progress",
	 .description = "Reports progress three times.",
	 .run = progresses},
	{.name = "test_trigger_tool_change",
	 .description = "Says that the tools have changed.",
	 .run = trigger_tools},
	{.name = "test_trigger_prompt_change",
	 .description = "Says that the prompts have changed.",
	 .run = trigger_prompts},
	{.name = "test_touch_watched_resource",
	 .description = "Says that test://watched-resource has changed.",
	 .run = touch_watched},
	{.name = "test_echo",
	 .title = "Echo",
	 .description = "Gives its arguments back.",
	 ARGUMENTS(echo_arguments),
	 .output_schema = "{\"type\": \"object\"}",
	 .run = echo},
	{.name = "test_endless",
	 .description = "Ends when it is cancelled.",
	 ARGUMENTS(endless_arguments),
	 .run = endless},
	{.name = "test_header_argument",
	 .description = "Has an argument that a header mirrors.",
	 ARGUMENTS(region_arguments),
	 .run = echo},
	{.name = "json_schema_2020_12_tool",
	 .description = "Has a schema with everything in it.",
	 .input_schema = schema_2020_12,
	 .run = echo},
	{0},
};
