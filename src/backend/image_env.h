/* SPDX-License-Identifier: MIT */
/*
 * The variables that an image sets, for programs. Its tools are found by its PATH; a virtual
 * environment, and one of micromamba, are in front of it, as activating them would have it.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>

/*
 * list has "NAME=value", as an image tells; what is none is left out. environment is that of
 * micromamba, or NULL. *ret is NULL-terminated, for sbx_strv_free() (base/strv.h).
 */
int sbx_image_env_make(const json_t *list, const char *environment, char ***ret,
		       struct sbx_error *err);
