/* SPDX-License-Identifier: MIT */
/* What a run came to, as a model reads it. */
#pragma once

#include "mcp/mcp.h"

/* JSON Schema of the answer. */
extern const char mcp_answer_schema[];

/* The most that a result may have, for the _meta of the tools: two streams and the rest. */
#define MCP_ANSWER_META "{\"anthropic/maxResultSizeChars\": 200000}"

/* Characters of each stream. */
#define MCP_OUTPUT_LEAST    100
#define MCP_OUTPUT_STANDARD 30000
#define MCP_OUTPUT_MOST	    80000

/*
 * Add the answer to the call: as text and as structured content. libraries are the versions of
 * what was asked for, or NULL; borrowed.
 */
int mcp_answer(struct mcp_call *call, const struct sbx_result *result, size_t max_output,
	       json_t *libraries, struct sbx_error *err);
