/* SPDX-License-Identifier: MIT */
#include "cli/picture.h"

#include <string.h>

static uint32_t big_endian(const unsigned char *p, int bytes)
{
	uint32_t value = 0;

	for (int i = 0; i < bytes; i++)
		value = value << 8 | p[i];
	return value;
}

/* The signature and the IHDR chunk, which is the first: https://www.w3.org/TR/png/#11IHDR */
static bool look_png(const unsigned char *p, size_t len, struct picture *ret)
{
	if (len < 33 || memcmp(p, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) != 0)
		return false;
	*ret = (struct picture){PICTURE_PNG, big_endian(p + 16, 4), big_endian(p + 20, 4)};
	return true;
}

/* SOF0 to SOF15, but for DHT, JPG and DAC, which are among them: ITU-T T.81, table B.1 */
static bool is_frame(unsigned char marker)
{
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
	       marker != 0xcc;
}

/* Segments up to the frame header. */
static bool look_jpeg(const unsigned char *p, size_t len, struct picture *ret)
{
	size_t at = 2;

	if (len < 4 || p[0] != 0xff || p[1] != 0xd8)
		return false;
	while (at + 9 <= len && p[at] == 0xff) {
		if (p[at + 1] == 0xff) { /* a fill byte */
			at++;
			continue;
		}
		if (is_frame(p[at + 1])) {
			*ret = (struct picture){PICTURE_JPEG, big_endian(p + at + 7, 2),
						big_endian(p + at + 5, 2)};
			return true;
		}
		at += 2 + big_endian(p + at + 2, 2);
	}
	return false;
}

struct picture picture_look(const void *data, size_t len)
{
	struct picture picture = {0};

	if (!look_png(data, len, &picture) && !look_jpeg(data, len, &picture))
		return (struct picture){0};
	if (picture.width == 0 || picture.height == 0 ||
	    (uint64_t)picture.width * picture.height > PICTURE_PIXELS_MAX)
		return (struct picture){0};
	return picture;
}
