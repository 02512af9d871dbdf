/* SPDX-License-Identifier: MIT */
/*
 * Our own MCP server's rows: tools that run code and commands in fresh sandboxes, what is known
 * about languages, and prompts.
 *
 *	struct mcp_sandbox *sandbox;
 *	struct mcp_face face;
 *
 *	mcp_sandbox_new(&options, &sandbox, &err);
 *	mcp_sandbox_face(sandbox, &face);
 *	... mcp_server_new(&face, &server, &err) ... mcp_server_free(server);
 *	mcp_sandbox_free(sandbox);
 *
 * Nothing is asked of the machine before a call needs it, so that a server starts at once.
 */
#pragma once

#include "mcp/mcp.h"

#include <llmsandbox/container.h>
#include <llmsandbox/network.h>
#include <llmsandbox/spec.h>

struct mcp_sandbox;

struct mcp_sandbox_options {
	const char *const *environment; /* "NAME=value" …, NULL; see environment.h */
	/* Limits that hold where nobody asks for others; lives as long as the sandbox. Or NULL. */
	const struct sbx_spec *limits;
	/* The most that a call may reach; is copied. NULL: what the environment says. */
	const struct sbx_network *network;
	/* Told what an engine says while it pulls, and what it committed to; from any thread. Or NULL. */
	sbx_engine_line_fn *on_engine_line;
};

/* What the environment asks for and cannot have is an error. */
int mcp_sandbox_new(const struct mcp_sandbox_options *options, struct mcp_sandbox **ret,
		    struct sbx_error *err);
void mcp_sandbox_free(struct mcp_sandbox *sandbox);

/* The face lives as long as the sandbox; set workers in it if you like. */
void mcp_sandbox_face(struct mcp_sandbox *sandbox, struct mcp_face *ret);
