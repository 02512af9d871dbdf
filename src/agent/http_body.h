/* SPDX-License-Identifier: MIT */
/*
 * Where a request's body ends: bytes pass through as they are, up to its last one. No I/O.
 *
 *	struct http_body b = http_body_of(&head);
 *	long n = http_body_take(&b, data, len);	// so many may go on; -1: the framing is broken
 *	if (b.done) ...
 */
#pragma once

#include "agent/http_head.h"

enum http_body_state {
	BODY_LENGTH,
	CHUNK_SIZE,
	CHUNK_EXTENSION,
	CHUNK_SIZE_END, /* the LF after its CR */
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	TRAILER_START,
	TRAILER,
	TRAILER_LF,
	TRAILERS_END
};

struct http_body {
	enum http_body_state state;
	uint64_t left;	 /* of the length, or of this chunk */
	unsigned int digits; /* of this chunk's size */
	unsigned int extra;  /* bytes of extensions and trailers so far */
	bool done;
};

struct http_body http_body_of(const struct http_head *head);
long http_body_take(struct http_body *b, const char *data, size_t len);
