/* SPDX-License-Identifier: MIT */
/*
 * What a picture's first bytes say, without decoding it. The bytes are hostile: a picture that
 * says that it is huge is none that we would have anybody decode. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PICTURE_BYTES_MAX  ((size_t)16 << 20)
#define PICTURE_PIXELS_MAX 40000000u

enum picture_kind {
	PICTURE_NONE,
	PICTURE_PNG,
	PICTURE_JPEG
};

struct picture {
	enum picture_kind kind;
	uint32_t width, height; /* pixels */
};

/* PICTURE_NONE for what is no PNG or JPEG, has no pixels, or more than PICTURE_PIXELS_MAX. */
struct picture picture_look(const void *data, size_t len);
