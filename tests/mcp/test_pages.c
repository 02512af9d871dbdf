/* SPDX-License-Identifier: MIT */
/* A long list comes in pages, and only with cursors that the server gave. */
#include "base/error.h"
#include "mcp/transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TOOLS 250

static char names[TOOLS][16];
static struct mcp_tool tools[TOOLS + 1];
static const struct mcp_face face = {.name = "pages", .version = "1", .tools = tools};

static int do_nothing(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	(void)call;
	(void)arguments;
	(void)err;
	return MCP_DONE;
}

/* A stream that keeps its answer. */
struct kept {
	struct mcp_stream stream;
	json_t *answer;
};

static void keep(struct mcp_stream *stream, const json_t *response, int status)
{
	(void)status;
	((struct kept *)stream)->answer = json_incref((json_t *)response);
}

/* The answer to tools/list with this cursor; takes the cursor. */
static json_t *list(struct mcp_session *session, json_t *cursor)
{
	json_t *message = json_pack(
		"{s:s, s:i, s:s, s:{s:{s:s, s:{}}, s:o*}}", "jsonrpc", "2.0", "id", 1, "method",
		"tools/list", "params", "_meta", "io.modelcontextprotocol/protocolVersion", "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities", "cursor", cursor);
	struct kept kept = {.stream = {.finish = keep}};

	mcp_session_receive(session, message, &kept.stream);
	json_decref(message);
	assert_non_null(kept.answer);
	return kept.answer;
}

static int set_up(void **state)
{
	struct mcp_server *server;
	struct sbx_error err;

	for (size_t i = 0; i < TOOLS; i++) {
		snprintf(names[i], sizeof(names[i]), "tool_%zu", i);
		tools[i] = (struct mcp_tool){.name = names[i], .description = "-", .run = do_nothing};
	}
	if (mcp_server_new(&face, &server, &err) < 0)
		return -1;
	*state = server;
	return 0;
}

static int tear_down(void **state)
{
	mcp_server_free(*state);
	return 0;
}

static void every_row_is_on_one_page(void **state)
{
	struct mcp_session *session = mcp_session_new(*state, MCP_SESSION_MODERN);
	json_t *cursor = NULL, *answer, *result, *page, *tool;
	size_t seen = 0, pages = 0, i;

	do {
		answer = list(session, cursor);
		result = json_object_get(answer, "result");
		page = json_object_get(result, "tools");
		json_array_foreach(page, i, tool)
			assert_string_equal(json_string_value(json_object_get(tool, "name")), names[seen++]);
		cursor = json_incref(json_object_get(result, "nextCursor"));
		json_decref(answer);
		assert_true(++pages < TOOLS);
	} while (cursor != NULL);
	assert_int_equal(seen, TOOLS);
	assert_true(pages > 1);
	mcp_session_free(session);
}

static void a_cursor_of_somebody_else_is_refused(void **state)
{
	struct mcp_session *session = mcp_session_new(*state, MCP_SESSION_MODERN);
	json_t *first = list(session, NULL), *answer;
	const char *given = json_string_value(
		json_object_get(json_object_get(first, "result"), "nextCursor"));
	char changed[512];

	snprintf(changed, sizeof(changed), "%s", given);
	changed[0] = changed[0] == 'A' ? 'B' : 'A';
	json_t *cursors[] = {json_string(changed), json_string("100"), json_string(""), json_integer(3)};
	for (size_t i = 0; i < sizeof(cursors) / sizeof(cursors[0]); i++) {
		answer = list(session, cursors[i]);
		assert_int_equal(json_integer_value(
					 json_object_get(json_object_get(answer, "error"), "code")),
				 MCP_INVALID_PARAMS);
		json_decref(answer);
	}
	json_decref(first);
	mcp_session_free(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_on_one_page),
		cmocka_unit_test(a_cursor_of_somebody_else_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
