/* SPDX-License-Identifier: MIT */
#include "core/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void sbx_capture_init(struct sbx_capture *c, size_t head_max, size_t tail_max)
{
	*c = (struct sbx_capture){.head = SBX_BUF_INIT(head_max), .tail_max = tail_max};
}

void sbx_capture_done(struct sbx_capture *c)
{
	sbx_buf_done(&c->head);
	free(c->tail);
	c->tail = NULL;
}

size_t sbx_capture_room(const struct sbx_capture *c)
{
	return c->head.max - c->head.len;
}

/* Write into the ring; only the last tail_max bytes of data can matter. */
static void add_tail(struct sbx_capture *c, const char *data, size_t len)
{
	if (c->tail == NULL && c->tail_max > 0)
		c->tail = malloc(c->tail_max);
	if (c->tail == NULL)
		return;
	if (len > c->tail_max) {
		data += len - c->tail_max;
		len = c->tail_max;
	}
	while (len > 0) {
		size_t room = c->tail_max - c->tail_at;
		size_t n = len < room ? len : room;

		memcpy(c->tail + c->tail_at, data, n);
		c->tail_at = (c->tail_at + n) % c->tail_max;
		c->tail_len = c->tail_len + n < c->tail_max ? c->tail_len + n : c->tail_max;
		data += n;
		len -= n;
	}
}

void sbx_capture_add(struct sbx_capture *c, const void *data, size_t len)
{
	size_t room = sbx_capture_room(c);
	size_t n = len < room ? len : room;

	c->added += len;
	sbx_buf_append(&c->head, data, n);
	if (len > n)
		add_tail(c, (const char *)data + n, len - n);
}

int sbx_capture_finish(struct sbx_capture *c, struct sbx_output *ret, struct sbx_error *err)
{
	size_t start = c->tail_len < c->tail_max ? 0 : c->tail_at;
	size_t first = c->tail_len - start < c->tail_len ? c->tail_len - start : c->tail_len;
	size_t len = c->head.len + c->tail_len;
	uint64_t total = c->total > c->added ? c->total : c->added;
	char *data = malloc(len + 1);

	if (data == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep %zu bytes of output", len);
	if (c->head.len > 0)
		memcpy(data, c->head.data, c->head.len);
	if (c->tail_len > 0) {
		memcpy(data + c->head.len, c->tail + start, first);
		memcpy(data + c->head.len + first, c->tail, c->tail_len - first);
	}
	data[len] = '\0';

	*ret = (struct sbx_output){
		.data = data,
		.len = len,
		.total_bytes = total,
		.truncated = total > len,
	};
	ret->head_len = ret->truncated ? c->head.len : len;
	return 0;
}
