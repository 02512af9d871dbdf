/* SPDX-License-Identifier: MIT */
/* A JSON object as the result of a tool: as structured content, and as text for the others. */
#pragma once

#include "mcp/mcp.h"

#include <stdint.h>

/* The text alone; NULL is an error, because then there was no memory to make it. */
int mcp_reply_text(struct mcp_call *call, const json_t *object, struct sbx_error *err);

/* The structured content alone, where the server is to give it; takes the reference. */
void mcp_reply_structured(struct mcp_call *call, json_t *object);

/* Takes the reference; NULL is an error, because then there was no memory to make it. */
int mcp_reply(struct mcp_call *call, json_t *object, struct sbx_error *err);

/* Set a value if it is not NULL; takes the reference. */
void mcp_set(json_t *object, const char *key, json_t *value);

/* Text of a program as a JSON string: what is no UTF-8 becomes U+FFFD. NULL without memory. */
json_t *mcp_program_text(const char *text);

/* A time of the wall clock as "2026-11-30T11:20:00Z". */
json_t *mcp_time(uint64_t seconds);
