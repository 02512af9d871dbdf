/* SPDX-License-Identifier: MIT */
/*
 * The program llm-sandbox-sixel: a PNG on stdin becomes sixels on stdout, at most WIDTH pixels
 * wide. What comes in was made in a sandbox and may be an attack on the decoder. So before the
 * first byte is read, this process gives up all but memory, computing time and its three
 * descriptors: a decoder that is taken over can write sixels, which the caller checks.
 *
 * Usage: llm-sandbox-sixel WIDTH
 */
#include "cli/fence.h"
#include "cli/files.h"
#include "cli/picture.h"

#include <png.h>
#include <sixel.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLORS	   256
#define WIDTH_MAX  8192
#define MEMORY_MAX ((size_t)1 << 30)
#define TIME_MAX   20 /* seconds */

struct pixels {
	unsigned char *data; /* RGB */
	int width, height;
};

/* ---- in ---- */

/* Onto white, as paper is: a terminal has no background that we know. */
static bool decode(const void *data, size_t len, struct pixels *ret)
{
	static const png_color white = {255, 255, 255};
	png_image image = {.version = PNG_IMAGE_VERSION};

	if (picture_look(data, len).kind != PICTURE_PNG ||
	    !png_image_begin_read_from_memory(&image, data, len))
		return false;
	image.format = PNG_FORMAT_RGB;
	*ret = (struct pixels){malloc(PNG_IMAGE_SIZE(image)), (int)image.width, (int)image.height};
	return ret->data != NULL && png_image_finish_read(&image, &white, ret->data, 0, NULL);
}

/* ---- smaller ---- */

static bool fit(struct pixels *p, int width)
{
	struct pixels small;

	if (p->width <= width)
		return true;
	small.width = width;
	small.height = (int)((long)p->height * width / p->width);
	small.height = small.height > 0 ? small.height : 1;
	small.data = malloc((size_t)small.width * (size_t)small.height * 3);
	if (small.data == NULL ||
	    SIXEL_FAILED(sixel_helper_scale_image(small.data, p->data, p->width, p->height,
						  SIXEL_PIXELFORMAT_RGB888, small.width,
						  small.height, SIXEL_RES_BILINEAR, NULL)))
		return false;
	free(p->data);
	*p = small;
	return true;
}

/* ---- out ---- */

static int put(char *data, int size, void *userdata)
{
	bool *failed = userdata;

	*failed |= size < 0 || file_write(STDOUT_FILENO, data, (size_t)size) < 0;
	return size;
}

static bool encode(struct pixels *p)
{
	sixel_dither_t *dither;
	sixel_output_t *output;
	bool failed = false;

	if (SIXEL_FAILED(sixel_dither_new(&dither, COLORS, NULL)) ||
	    SIXEL_FAILED(sixel_dither_initialize(dither, p->data, p->width, p->height,
						 SIXEL_PIXELFORMAT_RGB888, SIXEL_LARGE_AUTO,
						 SIXEL_REP_AUTO, SIXEL_QUALITY_AUTO)) ||
	    SIXEL_FAILED(sixel_output_new(&output, put, &failed, NULL)))
		return false;
	return !SIXEL_FAILED(sixel_encode(p->data, p->width, p->height, 3, dither, output)) &&
	       !failed;
}

/* All memory goes with the process. */
int main(int argc, char **argv)
{
	struct sbx_error ignored;
	struct pixels pixels;
	size_t len;
	char *data;
	int width = argc == 2 ? atoi(argv[1]) : 0;

	if (width < 1 || width > WIDTH_MAX) {
		fprintf(stderr, "usage: llm-sandbox-sixel WIDTH\n");
		return 2;
	}
	if (!fence_close(MEMORY_MAX, TIME_MAX))
		return 3;
	if (file_read(STDIN_FILENO, "stdin", PICTURE_BYTES_MAX, &data, &len, &ignored) < 0 ||
	    !decode(data, len, &pixels) || !fit(&pixels, width) || !encode(&pixels))
		return 1;
	return 0;
}
