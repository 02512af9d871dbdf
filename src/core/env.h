/* SPDX-License-Identifier: MIT */
/* The environment of a program, built from nothing: later assignments replace earlier ones. */
#pragma once

#include "base/error.h"
#include "core/session.h"
#include "lang/lang.h"

struct sbx_env_sources {
	struct sbx_session *session;
	const struct sbx_lang *lang; /* or NULL */
	const struct sbx_lang_values *values;
	const char *const *extra; /* of this run, or NULL */
	const struct sbx_artifact_env *artifacts; /* or NULL: none are wanted */
};

/* A NULL-terminated list that the caller frees with sbx_strv_free(). */
int sbx_env_build(const struct sbx_env_sources *from, char ***ret, struct sbx_error *err);
