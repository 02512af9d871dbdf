/* SPDX-License-Identifier: MIT */
/* Lists in pages. A cursor is opaque to clients: a sealed place in the list. */
#include "mcp/core.h"

#include <string.h>

#define PAGE_SIZE 100

static bool read_cursor(struct mcp_request *r, const json_t *cursor, size_t total, size_t *ret)
{
	const char *text = json_string_value(cursor);
	json_t *value = text ? mcp_unseal(r->server, text) : NULL;
	json_int_t at = json_integer_value(json_object_get(value, "at"));
	bool ours = json_is_integer(json_object_get(value, "at")) && at >= 0 && (size_t)at <= total;

	json_decref(value);
	*ret = (size_t)at;
	return ours;
}

static json_t *make_cursor(struct mcp_request *r, size_t at)
{
	json_t *value = json_pack("{s:I}", "at", (json_int_t)at), *cursor;
	char *text = mcp_seal(r->server, value);

	cursor = json_string(text ? text : "");
	free(text);
	json_decref(value);
	return cursor;
}

static json_t *slice(const json_t *all, size_t first, size_t end)
{
	json_t *page = json_array();

	for (size_t i = first; i < end; i++)
		json_array_append(page, json_array_get(all, i));
	return page;
}

void mcp_request_succeed_page(struct mcp_request *r, const char *key, json_t *all)
{
	const json_t *cursor = json_object_get(r->params, "cursor");
	size_t first = 0, total = json_array_size(all), end;
	json_t *result;

	if (cursor != NULL && !read_cursor(r, cursor, total, &first)) {
		json_decref(all);
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL,
				 "the cursor is none that this server gave; start without one");
		return;
	}
	end = total - first > PAGE_SIZE ? first + PAGE_SIZE : total;
	result = json_pack("{s:o}", key, slice(all, first, end));
	if (end < total)
		json_object_set_new(result, "nextCursor", make_cursor(r, end));
	json_decref(all);
	mcp_request_succeed(r, result);
}
