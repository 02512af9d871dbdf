/* SPDX-License-Identifier: MIT */
/*
 * The body of a request as it comes, by its length or in chunks, up to a maximum.
 *
 *	http_body_init(&body, &head, max);
 *	while ((r = http_body_take(&body, input)) == 0)
 *		wait for more input
 */
#pragma once

#include "mcp/http_parse.h"

#include <event2/buffer.h>

enum http_body_state {
	HTTP_BODY_DATA,
	HTTP_BODY_SIZE, /* the line before a chunk */
	HTTP_BODY_GAP,	/* the line end behind it */
	HTTP_BODY_TRAILER,
};

struct http_body {
	struct evbuffer *data; /* what is there; the struct's */
	size_t max;
	size_t left; /* of the body, or of the chunk */
	bool chunked;
	enum http_body_state state;
	size_t trailer_bytes;
};

/* 0, or -status: 413 for what is known to be too large, 503 without memory. */
int http_body_init(struct http_body *body, const struct http_head *head, size_t max);
void http_body_done(struct http_body *body);

/* Take what belongs to the body off input: 1 when it is complete, 0 for more, or -status. */
int http_body_take(struct http_body *body, struct evbuffer *input);
