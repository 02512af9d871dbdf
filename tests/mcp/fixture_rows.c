/* SPDX-License-Identifier: MIT */
/* Resources and prompts. */
#include "mcp/fixture.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

/* ---- resources ---- */

static int read_text(struct mcp_call *call, const char *uri, const char *variable,
		     struct sbx_error *err)
{
	const char *text = "This is the content of the static text resource.";

	(void)variable;
	(void)err;
	mcp_call_add_contents(call, uri, "text/plain", text, strlen(text));
	return MCP_DONE;
}

static int read_binary(struct mcp_call *call, const char *uri, const char *variable,
		       struct sbx_error *err)
{
	(void)variable;
	(void)err;
	mcp_call_add_contents(call, uri, "image/png", fixture_png, fixture_png_len);
	return MCP_DONE;
}

static int read_template(struct mcp_call *call, const char *uri, const char *variable,
			 struct sbx_error *err)
{
	char data[128];
	json_t *object;
	char text[512];

	(void)err;
	snprintf(data, sizeof(data), "Data for ID: %s", variable);
	object = json_pack("{s:s, s:b, s:s}", "id", variable, "templateTest", 1, "data", data);
	mcp_call_add_contents(call, uri, "application/json", text,
			      json_dumpb(object, text, sizeof(text), JSON_COMPACT));
	json_decref(object);
	return MCP_DONE;
}

static void complete_id(const char *variable, const char *prefix, json_t *values)
{
	(void)variable;
	if (strncmp("123", prefix, strlen(prefix)) == 0)
		json_array_append_new(values, json_string("123"));
}

const struct mcp_resource fixture_resources[] = {
	{.uri = "test://static-text",
	 .name = "static-text",
	 .title = "A text",
	 .description = "A text that never changes.",
	 .mime_type = "text/plain",
	 .read = read_text},
	{.uri = "test://static-binary",
	 .name = "static-binary",
	 .description = "An image that never changes.",
	 .mime_type = "image/png",
	 .read = read_binary},
	{.uri = "test://watched-resource",
	 .name = "watched-resource",
	 .description = "A text whose changes are told.",
	 .mime_type = "text/plain",
	 .read = read_text},
	{.uri = "test://template/{id}/data",
	 .name = "template",
	 .description = "Data of an id.",
	 .mime_type = "application/json",
	 .read = read_template,
	 .complete = complete_id},
	{0},
};

/* ---- prompts ---- */

static json_t *make_text(const char *text)
{
	return json_pack("{s:s, s:s}", "type", "text", "text", text);
}

static int simple_prompt(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	mcp_call_add_message(call, "user", make_text("This is a simple prompt for testing."));
	return MCP_DONE;
}

static int prompt_with_arguments(struct mcp_call *call, const json_t *arguments,
				 struct sbx_error *err)
{
	char text[1024];

	(void)err;
	snprintf(text, sizeof(text), "Prompt with arguments: arg1='%s', arg2='%s'",
		 json_string_value(json_object_get(arguments, "arg1")),
		 json_string_value(json_object_get(arguments, "arg2")));
	mcp_call_add_message(call, "user", make_text(text));
	return MCP_DONE;
}

static int prompt_with_resource(struct mcp_call *call, const json_t *arguments,
				struct sbx_error *err)
{
	(void)err;
	mcp_call_add_message(
		call, "user",
		json_pack("{s:s, s:{s:s, s:s, s:s}}", "type", "resource", "resource", "uri",
			  json_string_value(json_object_get(arguments, "resourceUri")), "mimeType",
			  "text/plain", "text", "Embedded resource content for testing."));
	mcp_call_add_message(call, "user",
			     make_text("Please process the embedded resource above."));
	return MCP_DONE;
}

static int prompt_with_image(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	mcp_call_add_message(call, "user",
			     json_pack("{s:s, s:s, s:s}", "type", "image", "data",
				       FIXTURE_PNG_BASE64, "mimeType", "image/png"));
	mcp_call_add_message(call, "user", make_text("Please analyze the image above."));
	return MCP_DONE;
}

static int prompt_that_asks(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	json_t *answer = NULL;
	const char *context;
	int r = mcp_call_ask(call, "user_context", "elicitation/create",
			     fixture_elicitation("What context should the prompt use?",
						 "{\"context\": {\"type\": \"string\"}}",
						 "[\"context\"]"),
			     &answer, err);

	(void)arguments;
	if (r != MCP_DONE)
		return r;
	context = json_string_value(json_object_get(json_object_get(answer, "content"), "context"));
	mcp_call_add_message(call, "user", make_text(context ? context : "no context"));
	json_decref(answer);
	return MCP_DONE;
}

static void complete_arg(const char *argument, const char *prefix, json_t *values)
{
	static const char *const words[] = {"paris", "park", "party", "test", NULL};

	if (strcmp(argument, "arg1") != 0)
		return;
	for (size_t i = 0; words[i] != NULL; i++)
		if (strncmp(words[i], prefix, strlen(prefix)) == 0)
			json_array_append_new(values, json_string(words[i]));
}

static const struct mcp_prompt_argument two_arguments[] = {
	{.name = "arg1", .description = "First test argument", .required = true},
	{.name = "arg2", .description = "Second test argument", .required = true},
};

static const struct mcp_prompt_argument uri_arguments[] = {
	{.name = "resourceUri", .description = "URI of the resource to embed", .required = true},
};

const struct mcp_prompt fixture_prompts[] = {
	{.name = "test_simple_prompt",
	 .description = "A prompt without arguments.",
	 .get = simple_prompt},
	{.name = "test_prompt_with_arguments",
	 .description = "A prompt with two arguments.",
	 .arguments = two_arguments,
	 .argument_count = 2,
	 .get = prompt_with_arguments,
	 .complete = complete_arg},
	{.name = "test_prompt_with_embedded_resource",
	 .description = "A prompt with a resource.",
	 .arguments = uri_arguments,
	 .argument_count = 1,
	 .get = prompt_with_resource},
	{.name = "test_prompt_with_image",
	 .description = "A prompt with an image.",
	 .get = prompt_with_image},
	{.name = "test_input_required_result_prompt",
	 .description = "A prompt that asks.",
	 .get = prompt_that_asks},
	{0},
};
