/* SPDX-License-Identifier: MIT */
/* A tool's row as JSON Schema, and a client's arguments checked against the same row. */
#include "mcp/core.h"

#include "base/auto.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- the schema ---- */

static json_t *type_schema(const struct mcp_argument *a)
{
	switch (a->type) {
	case MCP_INTEGER:
		return json_pack("{s:s}", "type", "integer");
	case MCP_NUMBER:
		return json_pack("{s:s}", "type", "number");
	case MCP_BOOLEAN:
		return json_pack("{s:s}", "type", "boolean");
	case MCP_STRINGS:
		return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string");
	case MCP_STRING_MAP:
		return json_pack("{s:s, s:{s:s}}", "type", "object", "additionalProperties", "type",
				 "string");
	case MCP_STRING:
	default:
		return json_pack("{s:s}", "type", "string");
	}
}

static bool has_range(const struct mcp_argument *a)
{
	return a->min != 0 || a->max != 0;
}

static void set_number(json_t *schema, const char *key, double value, bool whole)
{
	json_object_set_new(schema, key, whole ? json_integer((json_int_t)value) : json_real(value));
}

static void add_range(json_t *schema, const struct mcp_argument *a)
{
	bool number = a->type == MCP_INTEGER || a->type == MCP_NUMBER;
	bool whole = a->type != MCP_NUMBER;

	if (!has_range(a))
		return;
	set_number(schema, number ? "minimum" : "minLength", a->min, whole);
	set_number(schema, number ? "maximum" : "maxLength", a->max, whole);
}

static void add_choices(json_t *schema, const struct mcp_argument *a)
{
	json_t *values;

	if (a->choices == NULL)
		return;
	values = json_array();
	for (size_t i = 0; a->choices[i] != NULL; i++)
		json_array_append_new(values, json_string(a->choices[i]));
	json_object_set_new(schema, "enum", values);
}

static json_t *argument_schema(const struct mcp_argument *a)
{
	json_t *schema = type_schema(a);

	add_range(schema, a);
	add_choices(schema, a);
	if (a->nullable)
		schema = json_pack("{s:[o, {s:s}]}", "anyOf", schema, "type", "null");
	if (a->description != NULL)
		json_object_set_new(schema, "description", json_string(a->description));
	if (a->fallback != NULL)
		json_object_set_new(schema, "default", json_loads(a->fallback, JSON_DECODE_ANY, NULL));
	if (a->header != NULL)
		json_object_set_new(schema, "x-mcp-header", json_string(a->header));
	return schema;
}

json_t *mcp_tool_schema(const struct mcp_tool *tool)
{
	json_t *properties, *required, *schema;

	if (tool->input_schema != NULL)
		return json_loads(tool->input_schema, 0, NULL);
	properties = json_object();
	required = json_array();
	for (size_t i = 0; i < tool->argument_count; i++) {
		const struct mcp_argument *a = &tool->arguments[i];

		json_object_set_new(properties, a->name, argument_schema(a));
		if (a->required)
			json_array_append_new(required, json_string(a->name));
	}
	schema = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
			   "additionalProperties", 0);
	if (json_array_size(required) > 0)
		json_object_set(schema, "required", required);
	json_decref(required);
	return schema;
}

/* ---- arguments ---- */

#define WHOLE_REAL_MAX 9007199254740992.0 /* 2^53: beyond it a real is no exact whole number */

/* Where the sentence goes that says what is wrong. */
struct complaint {
	const char *argument;
	char *text;
	size_t size;
};

static bool complain(const struct complaint *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool complain(const struct complaint *c, const char *format, ...)
{
	int n = snprintf(c->text, c->size, "argument '%.64s' ", c->argument);
	va_list args;

	if (n < 0 || (size_t)n >= c->size)
		return false;
	va_start(args, format);
	vsnprintf(c->text + n, c->size - (size_t)n, format, args);
	va_end(args);
	return false;
}

static bool check_string(const struct mcp_argument *a, const json_t *value,
			 const struct complaint *c)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);

	if (text == NULL)
		return complain(c, "must be a string");
	if (strlen(text) != len)
		return complain(c, "has a NUL character at byte %zu", strlen(text));
	if (has_range(a) && ((double)len < a->min || (double)len > a->max))
		return complain(c, "must have %.0f to %.0f bytes, and has %zu", a->min, a->max, len);
	for (size_t i = 0; a->choices != NULL; i++) {
		if (a->choices[i] == NULL)
			return complain(c, "cannot be '%.64s'; see the tool's schema for its values", text);
		if (strcmp(a->choices[i], text) == 0)
			return true;
	}
	return true;
}

static bool check_number(const struct mcp_argument *a, const json_t *value,
			 const struct complaint *c)
{
	double number = json_number_value(value);
	bool whole = a->type == MCP_INTEGER;

	if (!json_is_number(value) || (whole && number != floor(number)))
		return complain(c, "must be %s", whole ? "a whole number" : "a number");
	if (whole && json_is_real(value) && fabs(number) > WHOLE_REAL_MAX)
		return complain(c, "is too large a number");
	if (has_range(a) && (number < a->min || number > a->max))
		return complain(c, "must be between %g and %g, and is %g", a->min, a->max, number);
	return true;
}

static bool check_strings(const json_t *value, const struct complaint *c)
{
	const struct mcp_argument any = {.type = MCP_STRING};
	size_t i;
	json_t *item;

	if (!json_is_array(value))
		return complain(c, "must be an array of strings");
	json_array_foreach(value, i, item)
		if (!check_string(&any, item, c))
			return false;
	return true;
}

static bool check_map(json_t *value, const struct complaint *c)
{
	const struct mcp_argument any = {.type = MCP_STRING};
	const char *key;
	json_t *item;

	if (!json_is_object(value))
		return complain(c, "must be an object whose values are strings");
	json_object_foreach(value, key, item)
		if (!check_string(&any, item, c))
			return false;
	return true;
}

static bool check_value(const struct mcp_argument *a, json_t *value, const struct complaint *c)
{
	if (json_is_null(value) && a->nullable)
		return true;
	switch (a->type) {
	case MCP_INTEGER:
	case MCP_NUMBER:
		return check_number(a, value, c);
	case MCP_BOOLEAN:
		return json_is_boolean(value) || complain(c, "must be true or false");
	case MCP_STRINGS:
		return check_strings(value, c);
	case MCP_STRING_MAP:
		return check_map(value, c);
	case MCP_STRING:
	default:
		return check_string(a, value, c);
	}
}

static const struct mcp_argument *find_argument(const struct mcp_tool *tool, const char *name)
{
	for (size_t i = 0; i < tool->argument_count; i++)
		if (strcmp(tool->arguments[i].name, name) == 0)
			return &tool->arguments[i];
	return NULL;
}

/* Every name that was given is an argument: a misspelt one would be lost without a word. */
static bool check_names(const struct mcp_tool *tool, json_t *given, char *ret_why, size_t size)
{
	const char *name;
	json_t *value;

	json_object_foreach(given, name, value) {
		const struct complaint c = {name, ret_why, size};

		if (find_argument(tool, name) == NULL)
			return complain(&c, "is not one of the tool '%s'", tool->name);
	}
	return true;
}

/* 30.0 and 3e1 are whole numbers in JSON; who reads the argument gets them as such. */
static void set_argument(json_t *ret, const struct mcp_argument *a, json_t *value)
{
	if (a->type == MCP_INTEGER && json_is_real(value))
		json_object_set_new(ret, a->name, json_integer((json_int_t)json_real_value(value)));
	else
		json_object_set(ret, a->name, value);
}

/* The value given or its default, in ret when there is either. */
static bool take_argument(const struct mcp_argument *a, const json_t *given, json_t *ret,
			  char *ret_why, size_t size)
{
	const struct complaint c = {a->name, ret_why, size};
	json_t *value = json_object_get(given, a->name);

	if (value == NULL && a->required)
		return complain(&c, "is missing: %s", a->description ? a->description : "it is required");
	if (value != NULL) {
		if (!check_value(a, value, &c))
			return false;
		set_argument(ret, a, value);
	} else if (a->fallback != NULL) {
		json_object_set_new(ret, a->name, json_loads(a->fallback, JSON_DECODE_ANY, NULL));
	}
	return true;
}

json_t *mcp_tool_arguments(const struct mcp_tool *tool, const json_t *given, char *ret_why,
			   size_t size)
{
	json_t *arguments;

	if (given != NULL && !json_is_object(given)) {
		snprintf(ret_why, size, "the arguments of '%s' must be an object", tool->name);
		return NULL;
	}
	if (tool->input_schema != NULL)
		return given ? json_incref((json_t *)given) : json_object();
	if (!check_names(tool, (json_t *)given, ret_why, size))
		return NULL;
	arguments = json_object();
	for (size_t i = 0; i < tool->argument_count; i++) {
		if (take_argument(&tool->arguments[i], given, arguments, ret_why, size))
			continue;
		json_decref(arguments);
		return NULL;
	}
	return arguments;
}
