/* SPDX-License-Identifier: MIT */
/*
 * One output stream in bounded memory: the first head_max bytes and the last tail_max bytes of
 * all that is added. Counts what it was given; the middle is dropped.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <llmsandbox/result.h>

struct sbx_capture {
	struct sbx_buf head;
	char *tail; /* a ring of tail_max bytes, made when the head is full */
	size_t tail_max, tail_len, tail_at;
	uint64_t added; /* bytes */
	uint64_t total; /* bytes the program wrote, as far as the agent told; it tells at the end */
};

void sbx_capture_init(struct sbx_capture *c, size_t head_max, size_t tail_max);
void sbx_capture_done(struct sbx_capture *c);

/* Without memory the rest is dropped, as if it were in the middle. */
void sbx_capture_add(struct sbx_capture *c, const void *data, size_t len);

/* Room left in the head. */
size_t sbx_capture_room(const struct sbx_capture *c);

/* Join head and tail into *ret, which owns its data. */
int sbx_capture_finish(struct sbx_capture *c, struct sbx_output *ret, struct sbx_error *err);
