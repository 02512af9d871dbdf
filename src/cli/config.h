/* SPDX-License-Identifier: MIT */
/*
 * Configuration files: YAML, one flat mapping of option names to scalars; `env` is a mapping,
 * `mount` a list. Every mistake is told with file and line.
 */
#pragma once

#include "options.h"

/* Read /etc/llm-sandbox/config.yaml and the user's, as far as they exist. -1: told on stderr. */
int config_read_usual(struct options *o);

/* Read this one; it must exist. */
int config_read(struct options *o, const char *path);
