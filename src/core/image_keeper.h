/* SPDX-License-Identifier: MIT */
/* Who keeps the images of a backend: we do for the native one, an engine its own. */
#pragma once

#include "backend/backend.h"

/* *ret is NULL where they are kept in the cache folder; backend NULL is "native". */
int sbx_image_find_keeper(const char *backend, const struct sbx_backend_images **ret,
			  struct sbx_error *err);
