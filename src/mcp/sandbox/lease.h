/* SPDX-License-Identifier: MIT */
/*
 * The session that a call works in. One call at a time has it; others wait, until they are
 * cancelled or the session ends.
 *
 *	struct mcp_lease lease;
 *	int r = mcp_lease_begin(&lease, call, arguments, &err);
 *
 *	if (r < 0)
 *		return r;
 *	r = ... lease.session ...
 *	r = mcp_lease_end(&lease, r, &err);
 */
#pragma once

#include "mcp/sandbox/inside.h"

/* The argument that names the session. */
#define MCP_SESSION_ARGUMENT \
	{.name = "session_id", .type = MCP_STRING, .required = true,                               \
	 .description = "The session, as create_session gave it"}

struct mcp_lease {
	struct sbx_registry *registry;
	struct sbx_session *session;
	const char *owner, *id; /* borrowed */
};

/*
 * Whose sessions a call may use: those of its client. Requests of the newer era over HTTP belong
 * to no client; among them whoever knows a session's id may use it.
 */
const char *mcp_owner(const struct mcp_call *call);

/* Whether id could be one of a session at all; an error with a sentence, unless. */
int mcp_check_session_id(const char *id, struct sbx_error *err);

/* The session of the argument session_id, or of this id. */
int mcp_lease_begin(struct mcp_lease *lease, struct mcp_call *call, const json_t *arguments,
		    struct sbx_error *err);
int mcp_lease_begin_id(struct mcp_lease *lease, struct mcp_call *call, const char *id,
		       struct sbx_error *err);

/* Wait until the sandbox of a session is there: what went wrong is told now, and not later. */
int mcp_session_await(struct sbx_session *session, struct sbx_error *err);

/* r and err: what the work came to. When the session has ended meanwhile, err says that instead. */
int mcp_lease_end(struct mcp_lease *lease, int r, struct sbx_error *err);

/* The same for a run: a sandbox that is lost for another reason stays the result. */
int mcp_lease_end_run(struct mcp_lease *lease, int r, const struct sbx_result *result,
		      struct sbx_error *err);
