/* SPDX-License-Identifier: MIT */
/* What a client may ask of a sandbox, within what whoever runs the server gives. */
#pragma once

#include "mcp/sandbox/environment.h"
#include "mcp/sandbox/network.h"

#include <jansson.h>

/* The arguments of every tool that makes a sandbox. */
#define MCP_WISH_ARGUMENTS \
	{.name = "memory_mb", .type = MCP_INTEGER, .nullable = true, .min = 8, .max = 1048576,     \
	 .description = "Memory in MiB, 1024 by default"},                                         \
	{.name = "cpus", .type = MCP_NUMBER, .nullable = true, .min = 0.01, .max = 1024,           \
	 .description = "CPUs, 1 by default; fractions are allowed"},                              \
	MCP_NETWORK_ARGUMENTS

/*
 * A new spec for the arguments; of each output stream as much is kept as max_output characters
 * need. language (an id) may be NULL: any.
 */
int mcp_make_spec(const struct mcp_environment *environment, const json_t *arguments,
		  const char *language, size_t max_output, struct sbx_spec **ret,
		  struct sbx_error *err);

/* In a session these are fixed: an error that names the first that is given. */
int mcp_refuse_wishes(const json_t *arguments, struct sbx_error *err);
