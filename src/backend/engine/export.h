/* SPDX-License-Identifier: MIT */
/* Images that an engine has, for others: backend.h says what is promised. */
#pragma once

#include "backend/backend.h"
#include "backend/engine/flavor.h"

int engine_find_image(const struct engine_flavor *flavor, const char *image,
		      char ret_id[SBX_IMAGE_ID_MAX], struct sbx_error *err);

/* By way of a container that is never started. */
int engine_export_image(const struct engine_flavor *flavor, const struct sbx_backend_export *export,
			char ***ret_env, struct sbx_error *err);
