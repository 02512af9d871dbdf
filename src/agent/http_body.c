/* SPDX-License-Identifier: MIT */
#include "agent/http_body.h"

#define DIGITS_MAX 12	/* of a chunk's size: 2^48 */
#define EXTRA_MAX  8192 /* of extensions and trailers, of the whole body */

struct http_body http_body_of(const struct http_head *head)
{
	return (struct http_body){
		.state = head->framing == HTTP_CHUNKED ? CHUNK_SIZE : BODY_LENGTH,
		.left = head->framing == HTTP_LENGTH ? head->length : 0,
		.done = head->framing == HTTP_NO_BODY,
	};
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_text(char c)
{
	return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

static bool go(struct http_body *b, bool fits, enum http_body_state next)
{
	b->state = next;
	return fits;
}

static bool take_size(struct http_body *b, char c)
{
	int digit = hex_value(c);

	if (digit >= 0) {
		b->left = b->left * 16 + (unsigned int)digit;
		return ++b->digits <= DIGITS_MAX;
	}
	if (b->digits == 0)
		return false;
	b->digits = 0;
	if (c == ';')
		return go(b, true, CHUNK_EXTENSION);
	return go(b, c == '\r', CHUNK_SIZE_END);
}

static bool take_extra(struct http_body *b, char c, enum http_body_state at_end)
{
	if (++b->extra > EXTRA_MAX)
		return false;
	if (c == '\r')
		return go(b, true, at_end);
	return is_text(c);
}

static bool take_trailer_start(struct http_body *b, char c)
{
	if (c == '\r')
		return go(b, true, TRAILERS_END);
	b->state = TRAILER;
	return ++b->extra <= EXTRA_MAX && is_text(c) && c != ' ' && c != '\t';
}

/* One byte that is not of a chunk's data: false when it may not stand here. */
static bool step(struct http_body *b, char c)
{
	switch (b->state) {
	case CHUNK_SIZE:
		return take_size(b, c);
	case CHUNK_EXTENSION:
		return take_extra(b, c, CHUNK_SIZE_END);
	case CHUNK_SIZE_END:
		return go(b, c == '\n', b->left > 0 ? CHUNK_DATA : TRAILER_START);
	case CHUNK_DATA_CR:
		return go(b, c == '\r', CHUNK_DATA_LF);
	case CHUNK_DATA_LF:
		return go(b, c == '\n', CHUNK_SIZE);
	case TRAILER_START:
		return take_trailer_start(b, c);
	case TRAILER:
		return take_extra(b, c, TRAILER_LF);
	case TRAILER_LF:
		return go(b, c == '\n', TRAILER_START);
	case TRAILERS_END:
		b->done = true;
		return c == '\n';
	case BODY_LENGTH:
	case CHUNK_DATA:
		break;
	}
	return false;
}

/* Bytes whose value is no matter. */
static size_t take_data(struct http_body *b, size_t len)
{
	size_t n = b->left < len ? (size_t)b->left : len;

	b->left -= n;
	if (b->left == 0 && b->state == CHUNK_DATA)
		b->state = CHUNK_DATA_CR;
	else if (b->left == 0)
		b->done = true;
	return n;
}

long http_body_take(struct http_body *b, const char *data, size_t len)
{
	size_t at = 0;

	while (at < len && !b->done) {
		if (b->state == BODY_LENGTH || b->state == CHUNK_DATA)
			at += take_data(b, len - at);
		else if (!step(b, data[at++]))
			return -1;
	}
	return (long)at;
}
