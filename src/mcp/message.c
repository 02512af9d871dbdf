/* SPDX-License-Identifier: MIT */
/* Messages of JSON-RPC as JSON values. */
#include "mcp/core.h"

#include "base/buf.h"
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define VALUES_MAX 500000 /* of one message: {} is two bytes here and some 200 in memory */

/* Commas and open brackets outside of strings; no JSON has more values, but for the first. */
static bool has_too_many_values(const char *text, size_t len)
{
	bool in_string = false;
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string)
			n += c == ',' || c == '[' || c == '{';
	}
	return n > VALUES_MAX;
}

/*
 * jansson checks UTF-8, surrogates, depth (2,048) and trailing bytes. NUL characters are let
 * through, so that a request with one still has an id to answer; mcp_get_string() and the
 * validation of arguments refuse them.
 */
json_t *mcp_parse(const char *text, size_t len, char *ret_why, size_t size)
{
	json_error_t error;
	json_t *value;

	if (has_too_many_values(text, len)) {
		snprintf(ret_why, size, "a message has more than %d values", VALUES_MAX);
		return NULL;
	}
	value = json_loadb(text, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
	if (value == NULL)
		snprintf(ret_why, size, "this is no JSON: %s (byte %d)", error.text, error.position);
	return value;
}

/* 15 digits: a number comes out as it was written, and not as 0.10000000000000001. */
char *mcp_format(const json_t *message)
{
	return json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(15));
}

json_t *mcp_text(const char *text, size_t len)
{
	auto_buf struct sbx_buf clean = SBX_BUF_INIT(SIZE_MAX / 2);
	json_t *value = json_stringn(text, len);

	if (value != NULL)
		return value;
	sbx_text_append_utf8(&clean, text, len);
	value = clean.failed || clean.len == 0 ? NULL : json_stringn(clean.data, clean.len);
	return value ? value : json_string("");
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
	/* A sentence that quotes what came in may have been cut within a character. */
	json_t *error = json_pack("{s:i, s:o, s:o*}", "code", code, "message",
				  mcp_text(message, strlen(message)), "data", data);

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
