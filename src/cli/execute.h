/* SPDX-License-Identifier: MIT */
/*
 * What `run` and `exec` share: let one thing run under our signals, in a fresh sandbox or in a
 * session, show what came of it, and turn that into an exit status.
 */
#pragma once

#include "cli/target.h"

/* Returns the exit status. With --dry-run, prints the plan alone. */
int execute(const struct settings *s, const struct job *job);

/* Show an outcome, and return the exit status that it has. */
int execute_show(struct output *o, const struct settings *s, const struct outcome *outcome);

/* The exit status of an outcome alone. */
int execute_status(const struct outcome *outcome);

/* Print the plan of the sandbox that the settings describe; returns the exit status. */
int execute_plan(const struct settings *s);

/* Say that we failed, as a sentence and with --json as an object; returns the exit status. */
int execute_fail(const struct settings *s, const struct sbx_error *err);

/* The exit status for output that could not be written. */
int execute_output_status(const struct output *o);
