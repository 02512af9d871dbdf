/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include "base/auto.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *sbx_buf_reserve(struct sbx_buf *b, size_t len)
{
	size_t want, capacity = b->capacity ? b->capacity : 256;
	char *grown;

	if (b->failed || len > b->max - b->len)
		goto failed;

	want = b->len + len + 1;
	if (want <= b->capacity)
		return b->data + b->len;
	while (capacity < want)
		capacity *= 2;

	grown = realloc(b->data, capacity);
	if (grown == NULL)
		goto failed;
	b->data = grown;
	b->capacity = capacity;
	return b->data + b->len;
failed:
	b->failed = true;
	return NULL;
}

void sbx_buf_append(struct sbx_buf *b, const void *data, size_t len)
{
	char *at = sbx_buf_reserve(b, len);

	if (at == NULL)
		return;
	if (len > 0)
		memcpy(at, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void sbx_buf_puts(struct sbx_buf *b, const char *text)
{
	sbx_buf_append(b, text, strlen(text));
}

void sbx_buf_printf(struct sbx_buf *b, const char *fmt, ...)
{
	va_list ap;
	char *at;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);

	at = len < 0 ? NULL : sbx_buf_reserve(b, (size_t)len);
	if (at == NULL) {
		b->failed = true;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(at, (size_t)len + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)len;
}

void sbx_buf_consume(struct sbx_buf *b, size_t n)
{
	if (n == 0)
		return;
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
	b->data[b->len] = '\0';
}

char *sbx_buf_take(struct sbx_buf *b)
{
	sbx_buf_append(b, "", 0);
	if (b->failed)
		return NULL;
	b->len = 0;
	b->capacity = 0;
	return take_ptr(b->data);
}

void sbx_buf_done(struct sbx_buf *b)
{
	free(b->data);
	*b = (struct sbx_buf){.max = b->max};
}
