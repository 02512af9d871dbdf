/* SPDX-License-Identifier: MIT */
#include <llmsandbox/artifact.h>

#include "base/error.h"

const char *sbx_artifact_kind_name(enum sbx_artifact_kind kind)
{
	static const char *const names[] = {
		[SBX_ARTIFACT_PLOT] = "plot",
		[SBX_ARTIFACT_DISPLAY] = "display",
		[SBX_ARTIFACT_FILE] = "file",
	};

	return (unsigned int)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "file";
}

int sbx_session_clear_artifacts(struct sbx_session *session, struct sbx_error *err)
{
	struct sbx_error lent;

	(void)session;
	return sbx_fail(err ? err : &lent, SBX_E_UNAVAILABLE, "artifacts are not built yet");
}
