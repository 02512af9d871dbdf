/* SPDX-License-Identifier: MIT */
/*
 * One end of the stream between host and agent: frames out through a bounded queue, frames in
 * through one buffer. Never blocks. All that comes in is hostile: a malformed frame is an error,
 * after which the connection must not be used any more.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "wire/bulk.h"
#include "wire/frame.h"
#include "wire/message.h"

#include <poll.h>
#include <stdbool.h>

struct sbx_conn {
	int fd;	   /* not owned; a socket that does both, or what is read from */
	int out_fd; /* not owned; -1: fd */
	char peer; /* who is at the other end: 'h' host, 'a' agent */
	struct sbx_buf in;
	size_t in_at; /* parsed up to here */
	struct sbx_buf out;
	size_t out_at; /* written up to here */
	struct sbx_bulk_out bulk_out;
	struct sbx_bulk_in bulk_in;
	bool eof;
};

void sbx_conn_init(struct sbx_conn *c, int fd, char peer);

/* The same over two pipes, which must not block, in a process that ignores SIGPIPE. */
void sbx_conn_init_pipes(struct sbx_conn *c, int in_fd, int out_fd, char peer);
void sbx_conn_done(struct sbx_conn *c);

/* Queue one message; what is larger than a frame goes in several (SETUP and EXEC only). */
int sbx_conn_queue(struct sbx_conn *c, enum wire_type type, uint32_t channel, const void *payload,
		   size_t len, struct sbx_error *err);

/*
 * A frame that is filled in place: where up to len bytes of its payload go, and, when `used` of
 * them are there, the queueing of it. Nothing may happen to the connection in between.
 */
char *sbx_conn_begin(struct sbx_conn *c, size_t len, struct sbx_error *err);
void sbx_conn_commit(struct sbx_conn *c, enum wire_type type, uint32_t channel, size_t used);

/* Bytes queued and not written yet. */
static inline size_t sbx_conn_queued(const struct sbx_conn *c)
{
	return c->out.len - c->out_at + c->bulk_out.bytes;
}

/* There will be much to send: more room in the kernel makes fewer turns of it. */
void sbx_conn_widen(struct sbx_conn *c);

/*
 * A DATA frame of up to len bytes that are spliced from fd: how many, 0 at its end, -EAGAIN when
 * there are none now or it cannot be done now (reading tells), or another -errno.
 */
ssize_t sbx_conn_splice(struct sbx_conn *c, uint32_t channel, int fd, size_t len);

/* As that, from a place of a file. What it does not splice, for whatever reason, can be read. */
ssize_t sbx_conn_splice_file(struct sbx_conn *c, uint32_t channel, int fd, uint64_t offset,
			     size_t len);

/* Write what the stream takes now. A stream whose end is gone sets eof. */
int sbx_conn_flush(struct sbx_conn *c, struct sbx_error *err);
bool sbx_conn_has_output(const struct sbx_conn *c);

/* Read what there is now; the end sets eof. Frames parsed before are invalid after it. */
int sbx_conn_fill(struct sbx_conn *c, struct sbx_error *err);

/*
 * The next frame: 1, or 0 when there is none yet, or an error. While there is a taker (bulk.h),
 * DATA of the agent's channels may come in parts, each as a frame of its own.
 */
int sbx_conn_next(struct sbx_conn *c, struct wire_frame *ret, struct sbx_error *err);

/* What to poll the stream for; of two pipes the second is for writing. */
struct pollfd sbx_conn_poll(const struct sbx_conn *c);
struct pollfd sbx_conn_poll_out(const struct sbx_conn *c);
