/* SPDX-License-Identifier: MIT */
/*
 * A growing byte buffer that has a maximum from birth.
 *
 * Appending past the maximum, or without memory, sets `failed` and changes nothing else; the
 * flag stays until sbx_buf_done(), so a writer may append many times and check once. The
 * content is always followed by a NUL that is not counted.
 *
 *	auto_buf struct sbx_buf b = SBX_BUF_INIT(4096);
 *	sbx_buf_printf(&b, "%s/%d", dir, n);
 *	if (b.failed) ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sbx_buf {
	char *data; /* NULL while nothing was appended */
	size_t len;
	size_t capacity;
	size_t max; /* of len */
	bool failed;
};

#define SBX_BUF_INIT(max_bytes) {.max = (max_bytes)}
#define auto_buf		__attribute__((cleanup(sbx_buf_done)))

void sbx_buf_append(struct sbx_buf *b, const void *data, size_t len);
void sbx_buf_puts(struct sbx_buf *b, const char *text);
void sbx_buf_printf(struct sbx_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Make room for len more bytes and return where they go, or NULL (then `failed` is set). */
char *sbx_buf_reserve(struct sbx_buf *b, size_t len);

/* Drop the first n bytes. */
void sbx_buf_consume(struct sbx_buf *b, size_t n);

/* The content as a string that the caller frees; "" when empty, NULL when the buffer failed. */
char *sbx_buf_take(struct sbx_buf *b);

void sbx_buf_done(struct sbx_buf *b);
