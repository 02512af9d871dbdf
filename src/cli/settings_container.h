/* SPDX-License-Identifier: MIT */
/* The options of container engines, for the table of options and settings.c. */
#pragma once

#include "cli/settings.h"

int settings_set_container(struct settings *s, const char *value, const char *where,
			   struct sbx_error *err);
int settings_set_environment(struct settings *s, const char *value, const char *where,
			     struct sbx_error *err);

/* "missing", "always" or "never". */
int settings_set_pull(struct settings *s, const char *value, const char *where,
		      struct sbx_error *err);

/* NULL or a tag; in files also true and false. */
int settings_set_commit(struct settings *s, const char *value, const char *where,
			struct sbx_error *err);

/* The opposite of --keep-template. */
int settings_drop_template(struct settings *s, const char *value, const char *where,
			   struct sbx_error *err);

/* JSON, or "@FILE" with it; added to what was given before. */
int settings_add_runtime_config(struct settings *s, const char *value, const char *where,
				struct sbx_error *err);

/* The JSON itself, which the caller frees. */
int settings_runtime_config(const char *value, const char *where, char **ret, struct sbx_error *err);

/* What depends on all other options. */
int settings_finish_container(struct settings *s, struct sbx_error *err);
