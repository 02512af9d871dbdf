/* SPDX-License-Identifier: MIT */
/* A program's output as text that is short enough for a model. Pure. */
#pragma once

#include <llmsandbox/result.h>

#include <jansson.h>

/* Bytes that must be kept of a stream so that a text of max characters can be made of it. */
size_t mcp_clip_head_bytes(size_t max);
size_t mcp_clip_tail_bytes(size_t max);

/*
 * The output as a JSON string of at most max characters and one line: two thirds from the start,
 * a third from the end, between them a line that states what was left out. No character is cut
 * in two; bytes that are no UTF-8 are U+FFFD. Sets *ret_cut. NULL without memory.
 */
json_t *mcp_clip(const struct sbx_output *output, size_t max, bool *ret_cut);
