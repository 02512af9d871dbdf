/* SPDX-License-Identifier: MIT */
#include "backend/engine/unframe.h"

enum { STREAM_IN, STREAM_OUT, STREAM_ERR, STREAM_SYSTEM };

static uint32_t length_of(const unsigned char *header)
{
	return (uint32_t)header[4] << 24 | (uint32_t)header[5] << 16 | (uint32_t)header[6] << 8 |
	       header[7];
}

static bool is_header(const unsigned char *header)
{
	return header[0] <= STREAM_SYSTEM && header[1] == 0 && header[2] == 0 && header[3] == 0;
}

/* Take what is there of headers until one has a payload; how many bytes that were. */
static size_t take_headers(struct engine_unframe *u, const unsigned char *data, size_t len)
{
	size_t at = 0;

	while (u->left == 0 && at < len && (u->have < sizeof(u->header) || is_header(u->header))) {
		if (u->have == sizeof(u->header))
			u->have = 0;
		u->header[u->have++] = data[at++];
		if (u->have == sizeof(u->header))
			u->left = length_of(u->header);
	}
	return at;
}

struct engine_piece engine_unframe_next(struct engine_unframe *u, const void *data, size_t len)
{
	struct engine_piece piece = {.kind = ENGINE_PIECE_OUT, .len = len};

	if (u->raw)
		return piece;
	piece.skip = take_headers(u, data, len);
	piece.len = len - piece.skip < u->left ? len - piece.skip : u->left;
	if (u->have == sizeof(u->header) && !is_header(u->header))
		piece = (struct engine_piece){.kind = ENGINE_PIECE_BAD, .skip = piece.skip};
	else if (u->have == sizeof(u->header) && u->header[0] >= STREAM_ERR)
		piece.kind = ENGINE_PIECE_WORDS;
	return piece;
}

void engine_unframe_took(struct engine_unframe *u, size_t len)
{
	if (!u->raw)
		u->left -= (uint32_t)len;
}
