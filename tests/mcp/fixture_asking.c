/* SPDX-License-Identifier: MIT */
/* Tools that ask the client: for input of its user, for its model's words, for its roots. */
#include "mcp/fixture.h"

#include "base/auto.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define MISSING_CAPABILITY (-32021)

json_t *fixture_elicitation(const char *message, const char *properties, const char *required)
{
	return json_pack("{s:s, s:{s:s, s:o, s:o}}", "message", message, "requestedSchema", "type",
			 "object", "properties", json_loads(properties, 0, NULL), "required",
			 json_loads(required, 0, NULL));
}

json_t *fixture_sampling(const char *text, int max_tokens)
{
	return json_pack("{s:[{s:s, s:{s:s, s:s}}], s:i}", "messages", "role", "user", "content",
			 "type", "text", "text", text, "maxTokens", max_tokens);
}

static int ask_user(struct mcp_call *call, const char *key, json_t *params, json_t **ret,
		    struct sbx_error *err)
{
	return mcp_call_ask(call, key, "elicitation/create", params, ret, err);
}

static int ask_name(struct mcp_call *call, json_t **ret, struct sbx_error *err)
{
	return ask_user(call, "user_name",
			fixture_elicitation("What is your name?",
					    "{\"name\": {\"type\": \"string\"}}", "[\"name\"]"),
			ret, err);
}

static int ask_model(struct mcp_call *call, const char *key, const char *text, int max_tokens,
		     json_t **ret, struct sbx_error *err)
{
	return mcp_call_ask(call, key, "sampling/createMessage", fixture_sampling(text, max_tokens),
			    ret, err);
}

static int ask_roots(struct mcp_call *call, json_t **ret, struct sbx_error *err)
{
	return mcp_call_ask(call, "client_roots", "roots/list", json_object(), ret, err);
}

static const char *get_content(const json_t *answer, const char *key)
{
	const char *text =
		json_string_value(json_object_get(json_object_get(answer, "content"), key));

	return text ? text : "";
}

/* Say what the user did, and what with. */
static void tell_answer(struct mcp_call *call, const char *what, const json_t *answer)
{
	const char *action = json_string_value(json_object_get(answer, "action"));
	auto_free char *content = json_dumps(json_object_get(answer, "content"), JSON_SORT_KEYS);

	fixture_add_text(call, "%s: action=%s, content=%s", what, action ? action : "",
			 content ? content : "{}");
}

/* ---- the older era's tools; in the newer they ask by way of the result ---- */

static int sampling(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	const char *prompt = json_string_value(json_object_get(arguments, "prompt"));
	json_t *answer = NULL;
	int r = ask_model(call, "reply", prompt, 100, &answer, err);

	if (r != MCP_DONE)
		return r;
	fixture_add_text(call, "LLM response: %s", get_content(answer, "text"));
	json_decref(answer);
	return MCP_DONE;
}

static int ask_and_tell(struct mcp_call *call, json_t *params, const char *what,
			struct sbx_error *err)
{
	json_t *answer = NULL;
	int r = ask_user(call, "answer", params, &answer, err);

	if (r != MCP_DONE)
		return r;
	tell_answer(call, what, answer);
	json_decref(answer);
	return MCP_DONE;
}

static int elicitation(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	return ask_and_tell(
		call,
		fixture_elicitation(json_string_value(json_object_get(arguments, "message")),
				    "{\"username\": {\"type\": \"string\", \"description\": "
				    "\"User's response\"},"
				    " \"email\": {\"type\": \"string\", \"description\": \"User's "
				    "email address\"}}",
				    "[\"username\", \"email\"]"),
		"User response", err);
}

static int elicitation_defaults(struct mcp_call *call, const json_t *arguments,
				struct sbx_error *err)
{
	(void)arguments;
	return ask_and_tell(
		call,
		fixture_elicitation("Please look at the defaults.",
				    "{\"name\": {\"type\": \"string\", \"default\": \"John Doe\"},"
				    " \"age\": {\"type\": \"integer\", \"default\": 30},"
				    " \"score\": {\"type\": \"number\", \"default\": 95.5},"
				    " \"status\": {\"type\": \"string\", \"default\": \"active\","
				    "  \"enum\": [\"active\", \"inactive\", \"pending\"]},"
				    " \"verified\": {\"type\": \"boolean\", \"default\": true}}",
				    "[]"),
		"Elicitation completed", err);
}

static int elicitation_enums(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	return ask_and_tell(
		call,
		fixture_elicitation(
			"Please choose.",
			"{\"untitledSingle\": {\"type\": \"string\","
			"  \"enum\": [\"option1\", \"option2\", \"option3\"]},"
			" \"titledSingle\": {\"type\": \"string\", \"oneOf\": ["
			"  {\"const\": \"value1\", \"title\": \"First Option\"},"
			"  {\"const\": \"value2\", \"title\": \"Second Option\"},"
			"  {\"const\": \"value3\", \"title\": \"Third Option\"}]},"
			" \"legacyEnum\": {\"type\": \"string\", \"enum\": [\"opt1\", \"opt2\", "
			"\"opt3\"],"
			"  \"enumNames\": [\"Option One\", \"Option Two\", \"Option Three\"]},"
			" \"untitledMulti\": {\"type\": \"array\", \"items\": {\"type\": "
			"\"string\","
			"  \"enum\": [\"option1\", \"option2\", \"option3\"]}},"
			" \"titledMulti\": {\"type\": \"array\", \"items\": {\"anyOf\": ["
			"  {\"const\": \"value1\", \"title\": \"First Choice\"},"
			"  {\"const\": \"value2\", \"title\": \"Second Choice\"},"
			"  {\"const\": \"value3\", \"title\": \"Third Choice\"}]}}}",
			"[]"),
		"Elicitation completed", err);
}

/* ---- the newer era's ---- */

static int missing_capability(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)arguments;
	(void)err;
	if (mcp_call_client_can(call, "sampling"))
		fixture_add_text(call, "The client can sample.");
	else
		mcp_call_refuse(call, MISSING_CAPABILITY,
				"this tool needs a client that can sample",
				json_pack("{s:{s:{}}}", "requiredCapabilities", "sampling"));
	return MCP_DONE;
}

static int greet_user(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	json_t *answer = NULL;
	int r = ask_name(call, &answer, err);

	(void)arguments;
	if (r != MCP_DONE)
		return r;
	fixture_add_text(call, "Hello, %s!", get_content(answer, "name"));
	json_decref(answer);
	return MCP_DONE;
}

static int streaming_elicitation(struct mcp_call *call, const json_t *arguments,
				 struct sbx_error *err)
{
	mcp_call_progress(call, 1, 2, "about to ask");
	return greet_user(call, arguments, err);
}

static int capital(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	json_t *answer = NULL;
	int r = ask_model(call, "capital_question", "What is the capital of France?", 100, &answer,
			  err);

	(void)arguments;
	if (r != MCP_DONE)
		return r;
	fixture_add_text(call, "%s", get_content(answer, "text"));
	json_decref(answer);
	return MCP_DONE;
}

static int list_roots(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	json_t *answer = NULL, *root;
	size_t i;
	int r = ask_roots(call, &answer, err);

	(void)arguments;
	if (r != MCP_DONE)
		return r;
	fixture_add_text(call, "The client's roots:");
	json_array_foreach(json_object_get(answer, "roots"), i, root)
	{
		const char *uri = json_string_value(json_object_get(root, "uri"));

		fixture_add_text(call, "%s", uri ? uri : "");
	}
	json_decref(answer);
	return MCP_DONE;
}

static int confirm(struct mcp_call *call, json_t **ret, struct sbx_error *err)
{
	return ask_user(call, "confirm",
			fixture_elicitation("Please confirm", "{\"ok\": {\"type\": \"boolean\"}}",
					    "[\"ok\"]"),
			ret, err);
}

static int request_state(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	json_t *answer = NULL;
	int r;

	(void)arguments;
	mcp_call_keep_state(call, json_pack("{s:b}", "asked", true));
	r = confirm(call, &answer, err);
	if (r != MCP_DONE)
		return r;
	json_decref(answer);
	fixture_add_text(call, json_is_true(json_object_get(mcp_call_state(call), "asked"))
				       ? "state-ok"
				       : "the state is lost");
	return MCP_DONE;
}

/* All three are asked before anything is waited for. */
static int multiple_inputs(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	json_t *name = NULL, *greeting = NULL, *roots = NULL;
	int r[3];

	(void)arguments;
	mcp_call_keep_state(call, json_pack("{s:b}", "asked", true));
	r[0] = ask_name(call, &name, err);
	r[1] = r[0] < 0 ? r[0]
			: ask_model(call, "greeting", "Generate a greeting", 50, &greeting, err);
	r[2] = r[1] < 0 ? r[1] : ask_roots(call, &roots, err);
	if (r[0] == MCP_DONE && r[1] == MCP_DONE && r[2] == MCP_DONE)
		fixture_add_text(call, "%s: %s (%zu roots)", get_content(name, "name"),
				 get_content(greeting, "text"),
				 json_array_size(json_object_get(roots, "roots")));
	json_decref(name);
	json_decref(greeting);
	json_decref(roots);
	if (r[2] < 0)
		return r[2];
	return r[0] == MCP_DONE && r[1] == MCP_DONE && r[2] == MCP_DONE ? MCP_DONE
									: MCP_NEEDS_INPUT;
}

static int multi_round(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	json_t *name = NULL, *colour = NULL;
	int r = ask_user(call, "step1",
			 fixture_elicitation("Step 1: What is your name?",
					     "{\"name\": {\"type\": \"string\"}}", "[\"name\"]"),
			 &name, err);

	(void)arguments;
	if (r != MCP_DONE)
		return r;
	r = ask_user(call, "step2",
		     fixture_elicitation("Step 2: What is your favorite color?",
					 "{\"color\": {\"type\": \"string\"}}", "[\"color\"]"),
		     &colour, err);
	if (r == MCP_DONE)
		fixture_add_text(call, "%s likes %s.", get_content(name, "name"),
				 get_content(colour, "color"));
	json_decref(name);
	json_decref(colour);
	return r;
}

/* Ask for what the client can do, and for nothing else. */
static int capabilities(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	json_t *answer = NULL;
	int r = MCP_DONE, asked = MCP_DONE;

	(void)arguments;
	if (mcp_call_client_can(call, "elicitation"))
		r = ask_name(call, &answer, err);
	json_decref(answer);
	answer = NULL;
	if (r >= 0 && mcp_call_client_can(call, "sampling"))
		asked = ask_model(call, "capital_question", "What is the capital of France?", 100,
				  &answer, err);
	json_decref(answer);
	if (r != MCP_DONE || asked != MCP_DONE)
		return r < 0 ? r : asked < 0 ? asked : MCP_NEEDS_INPUT;
	fixture_add_text(call, "All that could be asked has been answered.");
	return MCP_DONE;
}

static const struct mcp_argument prompt_arguments[] = {
	{.name = "prompt",
	 .type = MCP_STRING,
	 .required = true,
	 .description = "What the model is asked."},
};

static const struct mcp_argument message_arguments[] = {
	{.name = "message",
	 .type = MCP_STRING,
	 .required = true,
	 .description = "What the user is shown."},
};

const struct mcp_tool fixture_asking_tools[] = {
	{.name = "test_sampling",
	 .description = "Asks the client's model.",
	 .arguments = prompt_arguments,
	 .argument_count = 1,
	 .run = sampling},
	{.name = "test_elicitation",
	 .description = "Asks the user.",
	 .arguments = message_arguments,
	 .argument_count = 1,
	 .run = elicitation},
	{.name = "test_elicitation_sep1034_defaults",
	 .description = "Asks, with defaults.",
	 .run = elicitation_defaults},
	{.name = "test_elicitation_sep1330_enums",
	 .description = "Asks for choices of every form.",
	 .run = elicitation_enums},
	{.name = "test_missing_capability",
	 .description = "Needs a client that can sample.",
	 .run = missing_capability},
	{.name = "test_streaming_elicitation",
	 .description = "Reports, then asks.",
	 .run = streaming_elicitation},
	{.name = "test_input_required_result_elicitation",
	 .description = "Asks for a name.",
	 .run = greet_user},
	{.name = "test_input_required_result_sampling",
	 .description = "Asks the model.",
	 .run = capital},
	{.name = "test_input_required_result_list_roots",
	 .description = "Asks for the roots.",
	 .run = list_roots},
	{.name = "test_input_required_result_request_state",
	 .description = "Keeps a state.",
	 .run = request_state},
	{.name = "test_input_required_result_multiple_inputs",
	 .description = "Asks three things.",
	 .run = multiple_inputs},
	{.name = "test_input_required_result_multi_round",
	 .description = "Asks twice.",
	 .run = multi_round},
	{.name = "test_input_required_result_tampered_state",
	 .description = "Keeps a state.",
	 .run = request_state},
	{.name = "test_input_required_result_capabilities",
	 .description = "Asks for what the client can do.",
	 .run = capabilities},
	{0},
};
