/* SPDX-License-Identifier: MIT */
/* The flags of `run` and `exec` that are for the one run, wherever it happens. */
#pragma once

#include "cli/command.h"
#include "cli/target.h"

/*
 * Set timeout_ms and, for a session, env of a job; per_run_done() frees them. SBX_E_INVALID
 * names a flag that a session cannot have for one run.
 */
int per_run_read(const struct invocation *inv, const struct settings *s, struct job *job,
		 struct sbx_error *err);
void per_run_done(struct job *job);
