/* SPDX-License-Identifier: MIT */
/* The environment of a program, built from nothing: later assignments replace earlier ones. */
#pragma once

#include "backend/spec.h"
#include "base/error.h"
#include "lang/lang.h"

struct sbx_env_sources {
	const char *home;
	const char *tmp;
	const struct sbx_lang *lang; /* or NULL */
	const struct sbx_lang_values *values;
	const struct sbx_spec *spec;
	const char *const *extra; /* of this run, or NULL */
};

/* A NULL-terminated list that the caller frees with sbx_strv_free(). */
int sbx_env_build(const struct sbx_env_sources *from, char ***ret, struct sbx_error *err);
