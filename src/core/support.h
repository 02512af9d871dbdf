/* SPDX-License-Identifier: MIT */
/*
 * What goes into a sandbox for artifacts and kernels (src/lang/support): a folder with python/,
 * r/, javascript/, ruby/ and java/ below it. Where the spec asked for it and the backend can, it
 * is shown read-only from the start, and containers have it at hand; else it is put into the sandbox when it is first asked for.
 */
#pragma once

#include "backend/spec.h"
#include "core/session.h"

/*
 * The folder, absolute and inside; the session's for as long as it lives. Not to be called with
 * the session's turn taken: it may take it. NULL: err says why.
 */
const char *sbx_support_folder(struct sbx_session *session, struct sbx_error *err);

/* Show the folder in sandboxes of this spec, if it asks for that; the session keeps the path. */
void sbx_support_show(struct sbx_session *session, struct sbx_spec *copy);

/* The session keeps the path of the folder where its place has it from the start. */
void sbx_support_find(struct sbx_session *session);

/*
 * The folder below which artifacts of this session go, absolute and inside; not made. The caller
 * frees it; NULL without memory.
 */
char *sbx_artifacts_folder(const struct sbx_session *session);
