/* SPDX-License-Identifier: MIT */
/*
 * The options that made a sandbox what it is, in the order in which they were set, so that the
 * holder can set them again: [[option, value, where], …] on paper. Values mean the same in the
 * other process: variables have their values, and paths are absolute.
 */
#pragma once

#include "cli/options.h"

/* Note an option that was set; does nothing for those that are not the sandbox's. */
int wishes_note(struct settings *s, const struct option_row *o, const char *value,
		const char *where, struct sbx_error *err);

/* Set them again. */
int wishes_apply(const json_t *wishes, struct settings *s, struct sbx_error *err);
