/* SPDX-License-Identifier: MIT */
/*
 * The server that the official conformance suite is run against: tools, resources and prompts
 * that do nothing but show every part of the protocol once. Their names and texts are those
 * that the suite asks for.
 */
#pragma once

#include "mcp/mcp.h"

/* Rows, each ended by one without a name. */
extern const struct mcp_tool fixture_content_tools[]; /* every kind of content, logs, progress */
extern const struct mcp_tool fixture_asking_tools[];  /* what asks the client */
extern const struct mcp_tool fixture_task_tools[];    /* what may or must become a task */
extern const struct mcp_resource fixture_resources[];
extern const struct mcp_prompt fixture_prompts[];

/* A text, in the size that mcp.h wants. */
void fixture_add_text(struct mcp_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Let ms pass, or less when the call is cancelled; false then. */
bool fixture_pause(const struct mcp_call *call, unsigned int ms);

/* A PNG of one red pixel, as it is and in base64; a WAV of a few silent samples. */
extern const unsigned char fixture_png[];
extern const size_t fixture_png_len;
#define FIXTURE_PNG_BASE64                                                             \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLv" \
	"AAAAAElFTkSuQmCC"
#define FIXTURE_WAV_BASE64 \
	"UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA=="

/* The params of elicitation/create (two of them as JSON text) and sampling/createMessage. */
json_t *fixture_elicitation(const char *message, const char *properties, const char *required);
json_t *fixture_sampling(const char *text, int max_tokens);
