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

bool mcp_page(struct mcp_request *r, size_t total, size_t *ret_first, size_t *ret_end,
	      json_t **ret_cursor)
{
	const json_t *cursor = json_object_get(r->params, "cursor");

	*ret_first = 0;
	*ret_cursor = NULL;
	if (cursor != NULL && !read_cursor(r, cursor, total, ret_first)) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL,
				 "the cursor is none that this server gave; start without one");
		return false;
	}
	*ret_end = total - *ret_first > PAGE_SIZE ? *ret_first + PAGE_SIZE : total;
	if (*ret_end < total)
		*ret_cursor = make_cursor(r, *ret_end);
	return true;
}
