/* SPDX-License-Identifier: MIT */
/* A JSON object as the result of a tool: as structured content, and as text for the others. */
#pragma once

#include "mcp/mcp.h"

#include <stdint.h>

/* Takes the reference; NULL is an error, because then there was no memory to make it. */
int mcp_reply(struct mcp_call *call, json_t *object, struct sbx_error *err);

/* Set a value if it is not NULL; takes the reference. */
void mcp_set(json_t *object, const char *key, json_t *value);

/* A time of the wall clock as "2026-11-30T11:20:00Z". */
json_t *mcp_time(uint64_t seconds);
