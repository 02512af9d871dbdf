/* SPDX-License-Identifier: MIT */
/* What the files of our own MCP server share; users see sandbox.h. */
#pragma once

#include "mcp/sandbox/environment.h"
#include "mcp/sandbox/libraries.h"
#include "mcp/sandbox/sandbox.h"
#include "mcp/sandbox/shelf.h"

#include <llmsandbox/registry.h>

#define MCP_SANDBOX_TOOLS_MAX 32

struct mcp_sandbox {
	struct mcp_tool tools[MCP_SANDBOX_TOOLS_MAX + 1]; /* the rows below, ended by an empty one */
	struct mcp_environment environment;
	struct mcp_libraries libraries;
	struct sbx_registry *registry; /* of the sessions; their owners are clients */
	struct mcp_shelf shelf;	       /* artifacts of the sessions */
};

/* One tool, prompt or list of resources per file. */
extern const struct mcp_tool mcp_tool_execute_code, mcp_tool_execute_command,
	mcp_tool_create_session, mcp_tool_close_session, mcp_tool_list_sessions,
	mcp_tool_upload_file, mcp_tool_write_file, mcp_tool_read_file, mcp_tool_list_files,
	mcp_tool_delete_file, mcp_tool_install_libraries, mcp_tool_manage_kernel,
	mcp_tool_get_supported_languages, mcp_tool_get_language_details;
extern const struct mcp_resource mcp_sandbox_resources[];
extern const struct mcp_prompt mcp_sandbox_prompts[];

/* A file of a session; see file_uri.h. */
int mcp_read_file_resource(struct mcp_call *call, const char *uri, const char *variable,
			   struct sbx_error *err);

/* An artifact of a session; see file_uri.h. */
int mcp_read_artifact_resource(struct mcp_call *call, const char *uri, const char *variable,
			       struct sbx_error *err);

/* Append the ids of languages that begin with prefix, in any case. */
void mcp_complete_language(const char *prefix, json_t *values);
