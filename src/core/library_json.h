/* SPDX-License-Identifier: MIT */
/* What a set is, as text: its record in the store. */
#pragma once

#include <llmsandbox/library.h>

#include <stdbool.h>
#include <stddef.h>

/* The record, with the name of its folder; the caller frees it. NULL without memory. */
char *sbx_set_to_json(const struct sbx_library_set *set, const char *name);

/* The other way; false for anything else. The id is left "" with room for one. */
bool sbx_set_from_json(const char *text, size_t len, struct sbx_library_set **ret,
		       char ret_name[33]);

/* Whose tool chain a set is for, and who keeps it: as in struct sbx_library_set, but NULL for "". */
struct sbx_set_home {
	const char *image, *backend, *engine;
};

/* A new set with room for its id, and for these; NULL without memory. */
struct sbx_library_set *sbx_set_new(const char *language, const char *tool_chain,
				    const struct sbx_set_home *home, const char *const *requirements,
				    size_t packages);

/* Whether an engine keeps it, and not this machine's store. */
bool sbx_set_is_elsewhere(const struct sbx_library_set *set);
