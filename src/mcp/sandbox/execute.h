/* SPDX-License-Identifier: MIT */
/*
 * What the tools that run something have in common: the arguments for input and limits, a fresh
 * sandbox or one of a session, and the answer.
 */
#pragma once

#include "mcp/mcp.h"
#include "mcp/sandbox/wishes.h"

/* Rows of the arguments that they share. Timeout is in seconds. */
#define MCP_EXECUTE_ARGUMENTS \
	{.name = "session_id", .type = MCP_STRING, .nullable = true,                               \
	 .description = "A session of create_session to run in, whose files stay; without it the " \
			"sandbox is fresh, and gone afterwards"},                                  \
	{.name = "timeout", .type = MCP_INTEGER, .fallback = "30", .min = 1, .max = 3600,          \
	 .description = "Seconds of wall-clock time, compiling included; then it is killed"},       \
	{.name = "stdin", .type = MCP_STRING, .nullable = true,                                    \
	 .description = "What standard input gives; without it, it is at its end"},                \
	{.name = "args", .type = MCP_STRINGS, .nullable = true,                                    \
	 .description = "Command-line arguments"},                                                 \
	{.name = "files", .type = MCP_STRING_MAP, .nullable = true,                                \
	 .description = "Text files to put in the working folder first: relative name to text"},   \
	MCP_WISH_ARGUMENTS,                                                                        \
	{.name = "max_output", .type = MCP_INTEGER, .fallback = "30000", .min = 100, .max = 80000, \
	 .description = "Characters of stdout and of stderr in the answer; of more, the first two " \
			"thirds and the last third are kept"}

/* Code when language is not NULL, else the command line of a shell. */
struct mcp_execution {
	const char *language; /* id */
	const char *code;
	size_t code_len;
	const json_t *libraries; /* wanted, an array; or NULL */
	const char *kernel;	 /* whose cell it is, or NULL */
};

int mcp_execute(struct mcp_call *call, const struct mcp_execution *execution,
		const json_t *arguments, struct sbx_error *err);
