/* SPDX-License-Identifier: MIT */
/*
 * A folder as the context of a build: a tar archive in a file that has no name, without what
 * .dockerignore names. Owners are not kept; links are kept as links, and never followed.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct engine_context {
	void *data; /* mapped */
	size_t len;
};

/* file is the Containerfile, relative to folder: it is always there, as .dockerignore is. */
int engine_context_pack(const char *folder, const char *file, struct engine_context *ret,
			struct sbx_error *err);

void engine_context_done(struct engine_context *context);
