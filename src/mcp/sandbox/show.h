/* SPDX-License-Identifier: MIT */
/*
 * A run's artifacts in its answer: pictures as images, small documents and tables as embedded
 * resources, and of what is too large for an answer a link, where the session stays.
 *
 *	struct mcp_show show = {0};
 *
 *	mcp_show_gather(&show, call, session, session_id, result);	while the session is there
 *	... mcp_show_add(&show, call) ... mcp_show_describe(&show) ...
 *	mcp_show_done(&show);						before the result is freed
 *
 * All that is told of them comes from the program, and is nothing but text.
 */
#pragma once

#include "mcp/mcp.h"

#include <llmsandbox/result.h>

/* Artifacts that an answer tells of by name; the others are counted. */
#define MCP_SHOW_MOST 200

struct mcp_exhibit;

struct mcp_show {
	const struct sbx_result *result; /* borrowed */
	char session_id[40];		 /* "": it is gone after the run */
	struct mcp_exhibit *list;
	size_t count;
};

/*
 * Read what the answer to the call is to have; session_id is NULL when the session ends with the
 * run. What cannot be read is told as such.
 */
void mcp_show_gather(struct mcp_show *show, struct mcp_call *call, struct sbx_session *session,
		     const char *session_id, const struct sbx_result *result);

/* Add a text with a line for each, and then the items in order; nothing without artifacts. */
void mcp_show_add(const struct mcp_show *show, struct mcp_call *call);

/* Set the properties of mcp_answer_schema that are about them. */
void mcp_show_describe(const struct mcp_show *show, json_t *object);

/* And those about files that the run made or wrote. */
void mcp_show_changes(const struct sbx_result *result, json_t *object);

void mcp_show_done(struct mcp_show *show);
