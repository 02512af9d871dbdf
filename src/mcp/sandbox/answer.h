/* SPDX-License-Identifier: MIT */
/* What a run came to, as a model reads it. */
#pragma once

#include "mcp/mcp.h"
#include "mcp/sandbox/show.h"

/* JSON Schema of the answer. */
extern const char mcp_answer_schema[];

/* The most text that a result may have, for the _meta of the tools: two streams and the rest. */
#define MCP_ANSWER_META "{\"anthropic/maxResultSizeChars\": 300000}"

/* Characters of each stream. */
#define MCP_OUTPUT_LEAST    100
#define MCP_OUTPUT_STANDARD 30000
#define MCP_OUTPUT_MOST	    80000

/* What there is to answer; borrowed. */
struct mcp_ran {
	const struct sbx_result *result;
	size_t max_output;
	json_t *libraries;	     /* versions of what was asked for, or NULL */
	const char *kernel;	     /* whose cell it was, or NULL */
	const struct mcp_show *show; /* gathered */
};

/*
 * Add the answer to the call: the result as text, the artifacts, and all of it but the contents
 * of these as structured content. The text has the same as the latter, but for the artifacts,
 * of which there is a line each.
 */
int mcp_answer(struct mcp_call *call, const struct mcp_ran *ran,
	       struct sbx_error *err);
