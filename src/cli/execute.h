/* SPDX-License-Identifier: MIT */
/*
 * What `run` and `exec` share: open the sandbox, let one thing run in it under our signals,
 * show what came of it, and turn that into an exit status.
 */
#pragma once

#include "cli/settings.h"

#include <llmsandbox/session.h>

/* The one thing. io is complete; the function puts it into its call. */
typedef int execute_fn(struct sbx_session *session, const struct sbx_io *io, void *userdata,
		       struct sbx_result **ret, struct sbx_error *err);

struct execution {
	const char *language; /* of what will run, or "none" */
	execute_fn *run;
	void *userdata;
	bool use_stdin; /* our stdin is the program's */
};

/* Returns the exit status. With --dry-run, prints the plan alone. */
int execute(const struct settings *s, const struct execution *e);

/* Say that we failed, as a sentence and with --json as an object; returns the exit status. */
int execute_fail(const struct settings *s, const struct sbx_error *err);
