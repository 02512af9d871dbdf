/* SPDX-License-Identifier: MIT */
/*
 * Integers and strings in payloads: little-endian, strings as u32 length and bytes.
 *
 * A reader that runs out of bytes sets `bad`, gives zeros and empty strings from then on, and is
 * checked once at the end with wire_reader_end(). Strings point into the payload; they are not
 * NUL-terminated and may contain any byte.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_reader {
	const uint8_t *at;
	size_t left;
	bool bad;
};

struct wire_string {
	const char *data;
	size_t len;
};

static inline struct wire_reader wire_reader_over(const void *payload, size_t len)
{
	return (struct wire_reader){.at = payload, .left = len};
}

uint8_t wire_get_u8(struct wire_reader *r);
uint16_t wire_get_u16(struct wire_reader *r);
uint32_t wire_get_u32(struct wire_reader *r);
uint64_t wire_get_u64(struct wire_reader *r);
struct wire_string wire_get_string(struct wire_reader *r);

/* As wire_get_string(), but a NUL inside is bad too; the caller frees *ret (NULL when bad). */
char *wire_get_cstring(struct wire_reader *r);

/* True when all was read, nothing is left over and nothing was bad. */
bool wire_reader_end(const struct wire_reader *r);

void wire_put_u8(struct sbx_buf *b, uint8_t v);
void wire_put_u16(struct sbx_buf *b, uint16_t v);
void wire_put_u32(struct sbx_buf *b, uint32_t v);
void wire_put_u64(struct sbx_buf *b, uint64_t v);
void wire_put_string(struct sbx_buf *b, const void *data, size_t len);
void wire_put_cstring(struct sbx_buf *b, const char *text);
