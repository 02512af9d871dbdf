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

/* What a Containerfile is called in the archive when it is not in the folder. */
#define ENGINE_CONTEXT_FILE ".llm-sandbox.Containerfile"

/*
 * The Containerfile is file below folder: it is always there, as .dockerignore is. Where it is
 * elsewhere, file is ENGINE_CONTEXT_FILE and foreign its path; else that is NULL.
 */
int engine_context_pack(const char *folder, const char *file, const char *foreign,
			struct engine_context *ret, struct sbx_error *err);

void engine_context_done(struct engine_context *context);
