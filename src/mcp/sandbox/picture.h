/* SPDX-License-Identifier: MIT */
/*
 * Whether bytes are a picture that a client can show. One that is cut off, that is not what it is
 * said to be, or that has too many pixels is refused by the model behind the client, and with it
 * the whole conversation from there on. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pixels of a side that every client takes. */
#define MCP_PICTURE_SIDE_MOST 8000

/* Whether it is a type of pictures that clients are given as such. */
bool mcp_picture_is_type(const char *mime_type);

/* NULL: it can be shown as this type. Else why not, as the end of a sentence about it. */
const char *mcp_picture_problem(const char *mime_type, const char *data, size_t len);
