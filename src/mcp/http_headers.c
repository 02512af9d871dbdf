/* SPDX-License-Identifier: MIT */
#include "mcp/http_headers.h"

#include "base/auto.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define PROTOCOL_KEY "io.modelcontextprotocol/protocolVersion"

struct check {
	const struct mcp_server *server;
	const struct http_head *head;
	const json_t *message, *params;
	char *why;
	size_t size;
};

static const char *string_at(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

const char *http_headers_body_revision(const json_t *message)
{
	const json_t *meta = json_object_get(json_object_get(message, "params"), "_meta");

	return string_at(meta, PROTOCOL_KEY);
}

/* ---- values of fields ---- */

static bool is_wrapped(const char *value, size_t len)
{
	static const char start[] = "=?base64?", end[] = "?=";
	size_t before = strlen(start), behind = strlen(end);

	return len >= before + behind && strncmp(value, start, before) == 0 &&
	       strcmp(value + len - behind, end) == 0;
}

/* Strict: no padding is forgiven. The caller owns the result, which may be NULL. */
static unsigned char *decode_base64(const char *text, size_t len, size_t *ret_len)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t data = strspn(text, alphabet), padding = len - data;
	unsigned char *out;
	int n;

	if (len % 4 != 0 || data > len || padding > 2 || strncmp(text + data, "==", padding) != 0)
		return NULL;
	out = malloc(len / 4 * 3 + 1);
	if (out == NULL)
		return NULL;
	n = EVP_DecodeBlock(out, (const unsigned char *)text, (int)len);
	if (n < 0 || (size_t)n < padding) {
		free(out);
		return NULL;
	}
	*ret_len = (size_t)n - padding;
	return out;
}

/* Whether a field's value, plain or wrapped, is these bytes. */
static bool says_text(const char *value, const char *text, size_t text_len)
{
	size_t len = strlen(value), decoded_len;
	auto_free unsigned char *decoded = NULL;

	if (!is_wrapped(value, len))
		return len == text_len && memcmp(value, text, len) == 0;
	decoded = decode_base64(value + 9, len - 11, &decoded_len);
	return decoded != NULL && decoded_len == text_len && memcmp(decoded, text, text_len) == 0;
}

/* 1, 1.0 and 1e0 are one number in JSON. */
static bool says_number(const char *value, const json_t *number)
{
	char *end;
	double real;
	long long integer;

	if (strspn(value, "0123456789+-.eE") != strlen(value) || *value == '\0')
		return false;
	errno = 0;
	integer = strtoll(value, &end, 10);
	if (json_is_integer(number) && *end == '\0' && errno == 0)
		return integer == json_integer_value(number);
	real = strtod(value, &end);
	return *end == '\0' && real == json_number_value(number);
}

static bool says(const char *value, const json_t *argument)
{
	if (json_is_string(argument))
		return says_text(value, json_string_value(argument), json_string_length(argument));
	if (json_is_number(argument))
		return says_number(value, argument);
	if (json_is_boolean(argument))
		return strcmp(value, json_is_true(argument) ? "true" : "false") == 0;
	return true; /* of the wrong type anyway: the tool says so */
}

/* ---- the fields ---- */

static bool fail(const struct check *c, const char *field, const char *problem)
{
	snprintf(c->why, c->size, "header %s %s", field, problem);
	return false;
}

/* A field that must be there and say the same as a string of the body. */
static bool check_text(const struct check *c, const char *field, const char *text)
{
	const char *value = http_head_find(c->head, field);

	if (value == NULL)
		return fail(c, field, "is missing");
	if (!says_text(value, text, strlen(text)))
		return fail(c, field, "does not say what the body says");
	return true;
}

/* A body without its version is malformed in another way; the core has the words for it. */
static bool check_revision(const struct check *c)
{
	const char *revision = http_headers_body_revision(c->message);

	return revision == NULL || check_text(c, "MCP-Protocol-Version", revision);
}

/* Which member of params Mcp-Name mirrors. */
static const char *name_member(const char *method)
{
	static const struct {
		const char *method, *member;
	} rows[] = {
		{"tools/call", "name"},	    {"prompts/get", "name"},	{"resources/read", "uri"},
		{"tasks/get", "taskId"},    {"tasks/update", "taskId"}, {"tasks/cancel", "taskId"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].method, method) == 0)
			return rows[i].member;
	}
	return NULL;
}

static bool check_name(const struct check *c, const char *method)
{
	const char *member = name_member(method);
	const char *name = member == NULL ? NULL : string_at(c->params, member);

	return name == NULL || check_text(c, "Mcp-Name", name);
}

/* ---- arguments that a tool's row mirrors ---- */

static bool check_argument(const struct check *c, const char *argument, const char *header)
{
	const json_t *value = json_object_get(json_object_get(c->params, "arguments"), argument);
	char field[160];
	const char *said;

	snprintf(field, sizeof(field), "Mcp-Param-%s", header);
	said = http_head_find(c->head, field);
	if (value == NULL || json_is_null(value))
		return said == NULL || fail(c, field, "mirrors an argument that is not there");
	if (said == NULL)
		return fail(c, field, "is missing");
	return says(said, value) || fail(c, field, "does not say what the body says");
}

static bool check_rows(const struct check *c, const struct mcp_tool *tool)
{
	for (size_t i = 0; i < tool->argument_count; i++) {
		const struct mcp_argument *argument = &tool->arguments[i];

		if (argument->header != NULL &&
		    !check_argument(c, argument->name, argument->header))
			return false;
	}
	return true;
}

/* A tool with a schema of its own names the headers in it. */
static bool check_schema(const struct check *c, const struct mcp_tool *tool)
{
	json_t *schema = json_loads(tool->input_schema, 0, NULL), *property;
	const char *name;
	bool ok = true;

	json_object_foreach(json_object_get(schema, "properties"), name, property) {
		const char *header = string_at(property, "x-mcp-header");

		if (ok && header != NULL)
			ok = check_argument(c, name, header);
	}
	json_decref(schema);
	return ok;
}

static bool check_arguments(const struct check *c, const char *method)
{
	const char *name = string_at(c->params, "name");
	const struct mcp_tool *tool;

	if (strcmp(method, "tools/call") != 0 || name == NULL)
		return true;
	tool = mcp_server_find_tool(c->server, name);
	if (tool == NULL)
		return true;
	return tool->input_schema != NULL ? check_schema(c, tool) : check_rows(c, tool);
}

bool http_headers_match(const struct mcp_server *server, const struct http_head *head,
			const json_t *message, char *why, size_t size)
{
	const struct check c = {
		.server = server,
		.head = head,
		.message = message,
		.params = json_object_get(message, "params"),
		.why = why,
		.size = size,
	};
	const char *method = string_at(message, "method");

	if (!check_revision(&c))
		return false;
	if (method == NULL)
		return true;
	return check_text(&c, "Mcp-Method", method) && check_name(&c, method) &&
	       check_arguments(&c, method);
}
