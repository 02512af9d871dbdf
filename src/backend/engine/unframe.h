/* SPDX-License-Identifier: MIT */
/*
 * The frames around what a container writes: a header of 8 bytes (the stream, three zeros, the length
 * as four bytes, the highest first), then so many bytes. No I/O and no memory of its own: a payload of
 * 4 GiB passes piece by piece.
 *
 *	struct engine_unframe u = {0};
 *	struct engine_piece piece = engine_unframe_next(&u, data, len);
 *
 *	data += piece.skip, len -= piece.skip;
 *	... piece.len bytes from data on are of that kind; n of them were used:
 *	engine_unframe_took(&u, n);
 *
 * https://docs.docker.com/reference/api/engine/version/v1.45/#tag/Container/operation/ContainerAttach
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum engine_piece_kind {
	ENGINE_PIECE_OUT,   /* stdout, or a terminal's */
	ENGINE_PIECE_WORDS, /* stderr, or what the engine itself has to say */
	ENGINE_PIECE_BAD,   /* this is no frame; nothing that follows is one */
};

struct engine_piece {
	enum engine_piece_kind kind;
	size_t skip; /* bytes of headers in front of it */
	size_t len;  /* 0: more has to come first */
};

struct engine_unframe {
	bool raw; /* there are no frames: the container has a terminal */
	unsigned char header[8];
	size_t have;   /* of the header */
	uint32_t left; /* of the payload */
};

struct engine_piece engine_unframe_next(struct engine_unframe *u, const void *data, size_t len);
void engine_unframe_took(struct engine_unframe *u, size_t len);
