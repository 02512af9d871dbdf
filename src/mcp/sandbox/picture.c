/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/picture.h"

#include <string.h>

static uint32_t big_endian(const char *at)
{
	const unsigned char *b = (const unsigned char *)at;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static uint32_t little_endian(const char *at)
{
	const unsigned char *b = (const unsigned char *)at;

	return (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
}

static uint32_t short_little_endian(const char *at)
{
	return (uint32_t)(unsigned char)at[0] | (uint32_t)(unsigned char)at[1] << 8;
}

static bool begins(const char *data, size_t len, const char *with, size_t with_len)
{
	return len >= with_len && memcmp(data, with, with_len) == 0;
}

static bool ends(const char *data, size_t len, const char *with, size_t with_len)
{
	return len >= with_len && memcmp(data + len - with_len, with, with_len) == 0;
}

static const char *judge_sides(uint32_t width, uint32_t height)
{
	if (width == 0 || height == 0)
		return "has no pixels";
	if (width > MCP_PICTURE_SIDE_MOST || height > MCP_PICTURE_SIDE_MOST)
		return "has a side of more than 8000 pixels, which clients refuse";
	return NULL;
}

/* Signature, IHDR, and IEND as the end: https://www.w3.org/TR/png-3/#5DataRep */
static const char *judge_png(const char *data, size_t len)
{
	if (!begins(data, len, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16))
		return "is no PNG";
	if (len < 45 || !ends(data, len, "\0\0\0\0IEND\xae\x42\x60\x82", 12))
		return "is cut off";
	return judge_sides(big_endian(data + 16), big_endian(data + 20));
}

/* A marker that begins a frame has the sides: ITU-T T.81, B.1.1.3 and B.2.2. */
static bool is_frame(unsigned char marker)
{
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
	       marker != 0xcc;
}

static const char *judge_jpeg(const char *data, size_t len)
{
	const unsigned char *b = (const unsigned char *)data;
	size_t at = 2;

	if (!begins(data, len, "\xff\xd8\xff", 3))
		return "is no JPEG";
	if (!ends(data, len, "\xff\xd9", 2))
		return "is cut off";
	while (at + 9 < len && b[at] == 0xff) {
		if (is_frame(b[at + 1]))
			return judge_sides((uint32_t)b[at + 7] << 8 | b[at + 8],
					   (uint32_t)b[at + 5] << 8 | b[at + 6]);
		at += b[at + 1] == 0xff ? 1 : 2u + ((size_t)b[at + 2] << 8 | b[at + 3]);
	}
	return "is no JPEG";
}

static const char *judge_gif(const char *data, size_t len)
{
	if (!begins(data, len, "GIF87a", 6) && !begins(data, len, "GIF89a", 6))
		return "is no GIF";
	if (len < 14 || !ends(data, len, ";", 1))
		return "is cut off";
	return judge_sides(short_little_endian(data + 6), short_little_endian(data + 8));
}

/* Its sides are written in three ways, and are not looked at. */
static const char *judge_webp(const char *data, size_t len)
{
	if (!begins(data, len, "RIFF", 4) || len < 16 || memcmp(data + 8, "WEBPVP8", 7) != 0)
		return "is no WebP";
	return (uint64_t)little_endian(data + 4) + 8 > len ? "is cut off" : NULL;
}

static const char *judge_svg(const char *data, size_t len)
{
	if (memmem(data, len, "<svg", 4) == NULL && memmem(data, len, ":svg", 4) == NULL)
		return "is no SVG";
	return memmem(data, len, "svg>", 4) == NULL && memmem(data, len, "/>", 2) == NULL
		       ? "is cut off"
		       : NULL;
}

struct kind {
	const char *mime_type;
	const char *(*judge)(const char *data, size_t len);
};

static const struct kind kinds[] = {
	{"image/png", judge_png},   {"image/jpeg", judge_jpeg},	  {"image/gif", judge_gif},
	{"image/webp", judge_webp}, {"image/svg+xml", judge_svg},
};

static const struct kind *find(const char *mime_type)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].mime_type, mime_type) == 0)
			return &kinds[i];
	}
	return NULL;
}

bool mcp_picture_is_type(const char *mime_type)
{
	return find(mime_type) != NULL;
}

const char *mcp_picture_problem(const char *mime_type, const char *data, size_t len)
{
	const struct kind *kind = find(mime_type);

	return kind != NULL ? kind->judge(data, len) : "is no picture";
}
