/* SPDX-License-Identifier: MIT */
#include "wire/pack.h"

#include <stdlib.h>
#include <string.h>

/* The next n bytes, or NULL and bad. */
static const uint8_t *take(struct wire_reader *r, size_t n)
{
	const uint8_t *at = r->at;

	if (r->bad || n > r->left) {
		r->bad = true;
		return NULL;
	}
	r->at += n;
	r->left -= n;
	return at;
}

static uint64_t get_number(struct wire_reader *r, size_t size)
{
	const uint8_t *p = take(r, size);
	uint64_t v = 0;

	for (size_t i = 0; p != NULL && i < size; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

uint8_t wire_get_u8(struct wire_reader *r)
{
	return (uint8_t)get_number(r, 1);
}

uint16_t wire_get_u16(struct wire_reader *r)
{
	return (uint16_t)get_number(r, 2);
}

uint32_t wire_get_u32(struct wire_reader *r)
{
	return (uint32_t)get_number(r, 4);
}

uint64_t wire_get_u64(struct wire_reader *r)
{
	return get_number(r, 8);
}

struct wire_string wire_get_string(struct wire_reader *r)
{
	uint32_t len = wire_get_u32(r);
	const uint8_t *p = take(r, len);

	return p == NULL ? (struct wire_string){.data = ""}
			 : (struct wire_string){.data = (const char *)p, .len = len};
}

char *wire_get_cstring(struct wire_reader *r)
{
	struct wire_string s = wire_get_string(r);
	char *copy;

	if (r->bad || memchr(s.data, '\0', s.len) != NULL) {
		r->bad = true;
		return NULL;
	}
	copy = strndup(s.data, s.len);
	if (copy == NULL)
		r->bad = true;
	return copy;
}

bool wire_reader_end(const struct wire_reader *r)
{
	return !r->bad && r->left == 0;
}

static void put_number(struct sbx_buf *b, uint64_t v, size_t size)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	sbx_buf_append(b, bytes, size);
}

void wire_put_u8(struct sbx_buf *b, uint8_t v)
{
	put_number(b, v, 1);
}

void wire_put_u16(struct sbx_buf *b, uint16_t v)
{
	put_number(b, v, 2);
}

void wire_put_u32(struct sbx_buf *b, uint32_t v)
{
	put_number(b, v, 4);
}

void wire_put_u64(struct sbx_buf *b, uint64_t v)
{
	put_number(b, v, 8);
}

void wire_put_string(struct sbx_buf *b, const void *data, size_t len)
{
	wire_put_u32(b, (uint32_t)len);
	sbx_buf_append(b, data, len);
}

void wire_put_cstring(struct sbx_buf *b, const char *text)
{
	wire_put_string(b, text, strlen(text));
}
