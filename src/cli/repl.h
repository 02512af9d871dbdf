/* SPDX-License-Identifier: MIT */
/*
 * A conversation with a kernel: cells are read from a terminal or from stdin, run, and what they
 * show is saved and named.
 */
#pragma once

#include "cli/settings.h"
#include "cli/target.h"

/*
 * The settings say where; job is what each cell has: language, kernel, libraries, time, and the
 * session if it is ours. Returns the exit status.
 */
int repl_run(struct settings *s, const struct job *job);
