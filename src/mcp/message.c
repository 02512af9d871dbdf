/* SPDX-License-Identifier: MIT */
/* Messages of JSON-RPC as JSON values. */
#include "mcp/core.h"

#include <stdio.h>
#include <string.h>

/*
 * jansson checks UTF-8, surrogates, depth (2,048) and trailing bytes. NUL characters are let
 * through, so that a request with one still has an id to answer; mcp_get_string() and the
 * validation of arguments refuse them.
 */
json_t *mcp_parse(const char *text, size_t len, char *ret_why, size_t size)
{
	json_error_t error;
	json_t *value = json_loadb(text, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);

	if (value == NULL)
		snprintf(ret_why, size, "this is no JSON: %s (byte %d)", error.text, error.position);
	return value;
}

/* 15 digits: a number comes out as it was written, and not as 0.10000000000000001. */
char *mcp_format(const json_t *message)
{
	return json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(15));
}

json_t *mcp_notification(const char *method, json_t *params)
{
	return json_pack("{s:s, s:s, s:o*}", "jsonrpc", "2.0", "method", method, "params", params);
}

json_t *mcp_response(const json_t *id, json_t *result)
{
	return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", (json_t *)id, "result", result);
}

json_t *mcp_error_response(const json_t *id, int code, const char *message, json_t *data)
{
	json_t *error = json_pack("{s:i, s:s, s:o*}", "code", code, "message", message, "data", data);

	/* MCP's schemas know no id that is null; where none could be read there is none. */
	return json_pack("{s:s, s:O*, s:o}", "jsonrpc", "2.0", "id", (json_t *)id, "error", error);
}

json_t *mcp_meta(const json_t *params, const char *key)
{
	return json_object_get(json_object_get(params, "_meta"), key);
}

const char *mcp_get_string(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	const char *text = json_string_value(value);

	return text != NULL && strlen(text) == json_string_length(value) ? text : NULL;
}
