/* SPDX-License-Identifier: MIT */
/*
 * Configuration from files and from the environment. A file is a YAML mapping of option names
 * to values; "env" is a mapping or a list, "mounts" a list. LLM_SANDBOX_MEMORY in the
 * environment sets --memory; lists hold one item a line. A key nobody knows is an error: a
 * limit that is misspelt would be no limit.
 */
#pragma once

#include "cli/settings.h"

/*
 * Read the file at path, which must be there, or, when path is NULL, the files of the machine
 * and the user, which need not. The latter must belong to root or to us.
 */
int config_load(const char *path, struct settings *s, struct sbx_error *err);

int config_load_environment(struct settings *s, struct sbx_error *err);
