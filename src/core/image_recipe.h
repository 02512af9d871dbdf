/* SPDX-License-Identifier: MIT */
/* What images are made of: the lists in images/, which the build makes a part of the library. */
#pragma once

struct sbx_image_recipe {
	const char *language;
	const char *const *packages; /* of Debian, NULL-terminated */
};

/* Ends with a NULL language. */
extern const struct sbx_image_recipe sbx_image_recipes[];

/* Arguments of mmdebstrap(1), NULL-terminated. */
extern const char *const *const sbx_image_options;
