/* SPDX-License-Identifier: MIT */
/*
 * DATA that passes through without being copied. Out: a payload is spliced from a descriptor into
 * a pipe, and from there into the stream behind its header, which is queued as all others are. In:
 * while there is a taker, the stream is read header by header, and a payload on a channel of the
 * agent's is offered to it while it is still in the stream. Part of conn.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SBX_BULK_PARTS 16
#define SBX_BULK_LEAST 16384u /* below that a copy is cheaper */

/* A payload in the pipe, and where in the queue its header ends. */
struct sbx_bulk_part {
	size_t at, len;
};

struct sbx_bulk_out {
	int pipe[2]; /* -1 until it is used */
	struct sbx_bulk_part parts[SBX_BULK_PARTS];
	unsigned int count;
	size_t bytes; /* of all parts */
};

/*
 * Take up to len bytes of a payload from the stream, all of them for good: how many, or 0 when it
 * cannot; they then come as a frame.
 */
typedef size_t sbx_bulk_taker(void *owner, uint32_t channel, int stream_fd, size_t len);

struct sbx_bulk_in {
	sbx_bulk_taker *take; /* NULL: frames come whole, and are copied */
	void *owner;
	uint32_t channel;
	size_t left; /* of the payload that is under way; the next frame begins behind it */
};
