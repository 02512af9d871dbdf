/* SPDX-License-Identifier: MIT */
/*
 * Sets whose files an engine keeps (backend.h, struct sbx_backend_sets). They are written and removed by way
 * of a sandbox of the image they are for, made for that alone: it shows its sets writable, has no network, and
 * runs nothing but the agent, so neither the image nor a set has code that could do harm there. What goes in
 * is a folder of this machine that was checked before.
 */
#pragma once

#include "base/error.h"

#include <llmsandbox/library.h>

/* Put a folder there under this name. */
int sbx_shelf_put(const struct sbx_library_set *set, const char *from, const char *name,
		  struct sbx_cancel *cancel, struct sbx_error *err);

/* Copy it out to a new folder of this machine. */
int sbx_shelf_get(const struct sbx_library_set *set, const char *name, const char *to,
		  struct sbx_error *err);

/*
 * Remove it; no error when it is not there. Where the image is gone all its sets go. SBX_E_UNAVAILABLE when
 * its engine is not the one that is used now.
 */
int sbx_shelf_remove(const struct sbx_library_set *set, const char *name, struct sbx_error *err);

/* Whether its engine is the one that is used now: 0, or SBX_E_UNAVAILABLE. */
int sbx_shelf_check(const struct sbx_library_set *set, struct sbx_error *err);

/* That the engine says it has none of the image's sets any more. */
bool sbx_shelf_is_gone(const struct sbx_library_set *set);
