/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/lease.h"

#include "base/error.h"

#include <llmsandbox/files.h>

#include <stdlib.h>
#include <string.h>

#define ID_LEN 32

const char *mcp_owner(const struct mcp_call *call)
{
	const char *client = mcp_call_client(call);

	return client != NULL ? client : "anybody";
}

/* A label would do for the registry, but is no secret. */
int mcp_check_session_id(const char *id, struct sbx_error *err)
{
	if (strlen(id) == ID_LEN && strspn(id, "0123456789abcdef") == ID_LEN)
		return 0;
	return sbx_fail(
		err, SBX_E_NOT_FOUND,
		"'%.64s' is no session_id; it is the 32 characters that create_session gives", id);
}

int mcp_lease_begin_id(struct mcp_lease *lease, struct mcp_call *call, const char *id,
		       struct sbx_error *err)
{
	const struct mcp_sandbox *sandbox = mcp_call_userdata(call);
	int r = mcp_check_session_id(id, err);

	*lease = (struct mcp_lease){
		.registry = sandbox->registry, .owner = mcp_owner(call), .id = id};
	if (r < 0)
		return r;
	return sbx_registry_acquire_alone(lease->registry, lease->owner, id, mcp_call_cancel(call),
					  &lease->session, err);
}

int mcp_lease_begin(struct mcp_lease *lease, struct mcp_call *call, const json_t *arguments,
		    struct sbx_error *err)
{
	const char *id = json_string_value(json_object_get(arguments, "session_id"));

	return mcp_lease_begin_id(lease, call, id, err);
}

int mcp_session_await(struct sbx_session *session, struct sbx_error *err)
{
	struct sbx_file_info info;
	int r = sbx_session_stat_file(session, ".", &info, err);

	if (r == 0)
		free(info.path);
	return r;
}

int mcp_lease_end(struct mcp_lease *lease, int r, struct sbx_error *err)
{
	struct sbx_error why;

	if (r < 0 && sbx_registry_check(lease->registry, lease->session, &why) < 0)
		*err = why;
	sbx_registry_release_alone(lease->registry, lease->session);
	return r;
}

int mcp_lease_end_run(struct mcp_lease *lease, int r, const struct sbx_result *result,
		      struct sbx_error *err)
{
	bool lost = r == 0 && result->reason == SBX_LOST;
	struct sbx_error ignored;

	/* Who ends a session cancels what runs in it. */
	if (lost || (r == 0 && result->reason == SBX_CANCELLED))
		r = sbx_registry_check(lease->registry, lease->session, err);
	r = mcp_lease_end(lease, r, err);
	/* Nothing can be done in it any more, so that nobody should be told that it is there. */
	if (lost && r == 0)
		sbx_registry_close(lease->registry, lease->owner, lease->id, &ignored);
	return r;
}
