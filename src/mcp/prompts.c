/* SPDX-License-Identifier: MIT */
/* Prompts, and the completion of what can be typed into them and into templates. */
#include "mcp/core.h"

#include "base/auto.h"

#include <string.h>

#define COMPLETIONS_MAX 100 /* the protocol's */

static const struct mcp_prompt *find_prompt(const struct mcp_face *face, const char *name)
{
	const struct mcp_prompt *prompt = face->prompts;

	for (; prompt != NULL && name != NULL && prompt->name != NULL; prompt++)
		if (strcmp(prompt->name, name) == 0)
			return prompt;
	return NULL;
}

static json_t *describe(const struct mcp_prompt *prompt, const struct mcp_revision *revision)
{
	json_t *item = json_pack("{s:s, s:s*}", "name", prompt->name, "description",
				 prompt->description);
	json_t *arguments = json_array();

	for (size_t i = 0; i < prompt->argument_count; i++) {
		const struct mcp_prompt_argument *a = &prompt->arguments[i];

		json_array_append_new(arguments,
				      json_pack("{s:s, s:s*, s:b}", "name", a->name, "description",
						a->description, "required", a->required));
	}
	if (revision->structured && prompt->title != NULL)
		json_object_set_new(item, "title", json_string(prompt->title));
	json_object_set_new(item, "arguments", arguments);
	return item;
}

void mcp_serve_prompts_list(struct mcp_request *r)
{
	const struct mcp_prompt *prompt = r->server->face->prompts;
	json_t *list = json_array();

	for (; prompt != NULL && prompt->name != NULL; prompt++)
		json_array_append_new(list, describe(prompt, r->revision));
	mcp_request_succeed_page(r, "prompts", list);
}

/* The arguments as an object of strings, checked against the row; NULL: the request has failed. */
static json_t *take_arguments(struct mcp_request *r, const struct mcp_prompt *prompt)
{
	json_t *given = json_object_get(r->params, "arguments"), *arguments;

	if (given != NULL && !json_is_object(given)) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL, "arguments must be an object");
		return NULL;
	}
	arguments = json_object();
	for (size_t i = 0; i < prompt->argument_count; i++) {
		const char *name = prompt->arguments[i].name;
		json_t *value = json_object_get(given, name);

		if ((value == NULL && prompt->arguments[i].required) ||
		    (value != NULL && mcp_get_string(given, name) == NULL)) {
			json_decref(arguments);
			mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL,
					 "the prompt '%s' needs its argument '%s' as a string",
					 prompt->name, name);
			return NULL;
		}
		if (value != NULL)
			json_object_set(arguments, name, value);
	}
	return arguments;
}

void mcp_serve_prompts_get(struct mcp_request *r)
{
	const char *name = mcp_get_string(r->params, "name");
	const struct mcp_prompt *prompt = find_prompt(r->server->face, name);
	struct mcp_call *call;
	json_t *arguments;

	if (prompt == NULL) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL,
				 "there is no prompt '%.80s'; prompts/list names those that there are",
				 name ? name : "");
		return;
	}
	arguments = take_arguments(r, prompt);
	if (arguments == NULL)
		return;
	call = mcp_call_new(r, MCP_CALL_PROMPT);
	if (call == NULL) {
		json_decref(arguments);
		return;
	}
	call->prompt = prompt;
	call->arguments = arguments;
	if (mcp_ask_resume(r, call))
		mcp_call_start(call);
}

/* ---- completion ---- */

/* Ask the row that the reference names; false: there is none. */
static bool complete(const struct mcp_face *face, const json_t *ref, const char *argument,
		     const char *prefix, json_t *values)
{
	const char *type = mcp_get_string(ref, "type");
	const char *uri = mcp_get_string(ref, "uri");
	const struct mcp_prompt *prompt;
	const struct mcp_resource *resource;

	if (type != NULL && strcmp(type, "ref/prompt") == 0) {
		prompt = find_prompt(face, mcp_get_string(ref, "name"));
		if (prompt != NULL && prompt->complete != NULL)
			prompt->complete(argument, prefix, values);
		return prompt != NULL;
	}
	if (type == NULL || strcmp(type, "ref/resource") != 0 || uri == NULL)
		return false;
	for (resource = face->resources; resource && resource->uri; resource++) {
		if (strcmp(resource->uri, uri) != 0)
			continue;
		if (resource->complete != NULL)
			resource->complete(argument, prefix, values);
		return true;
	}
	return false;
}

void mcp_serve_complete(struct mcp_request *r)
{
	const json_t *argument = json_object_get(r->params, "argument");
	const char *name = mcp_get_string(argument, "name"), *prefix = mcp_get_string(argument, "value");
	json_t *values;
	size_t total;

	if (name == NULL || prefix == NULL) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL,
				 "completion/complete needs argument.name and argument.value");
		return;
	}
	values = json_array();
	if (!complete(r->server->face, json_object_get(r->params, "ref"), name, prefix, values)) {
		json_decref(values);
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL,
				 "ref names no prompt and no resource template of this server");
		return;
	}
	total = json_array_size(values);
	while (json_array_size(values) > COMPLETIONS_MAX)
		json_array_remove(values, json_array_size(values) - 1);
	mcp_request_succeed(r, json_pack("{s:{s:o, s:I, s:b}}", "completion", "values", values, "total",
					 (json_int_t)total, "hasMore", total > COMPLETIONS_MAX));
}
