/* SPDX-License-Identifier: MIT */
/*
 * One end of the stream between host and agent: frames out through a bounded queue, frames in
 * through one buffer. Never blocks. All that comes in is hostile: a malformed frame is an error,
 * after which the connection must not be used any more.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "wire/frame.h"
#include "wire/message.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct sbx_conn {
	int fd;	   /* not owned */
	char peer; /* who is at the other end: 'h' host, 'a' agent */
	struct sbx_buf in;
	size_t in_at; /* parsed up to here */
	struct sbx_buf out;
	size_t out_at; /* written up to here */
	/* Bytes of a file that belong behind out.data[file_mark], where file_left is not 0. */
	int file_fd; /* owned as long */
	uint64_t file_at;
	size_t file_left, file_mark;
	bool file_failed; /* zeros went in place of bytes that could not be read */
	bool eof;
};

void sbx_conn_init(struct sbx_conn *c, int fd, char peer);
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

/*
 * Queue a frame whose payload are len bytes of a file, 1 to WIRE_PAYLOAD_MAX, which the kernel
 * takes from there when the frame is written; other messages may be queued behind it, but no
 * second such frame as long as sbx_conn_has_file(). A file that turns out to be shorter is filled
 * up with zeros; one that cannot be read too, and file_failed is set. Needs O_NONBLOCK on the
 * stream: sendfile(2) has no flag for it.
 */
int sbx_conn_queue_file(struct sbx_conn *c, enum wire_type type, uint32_t channel, int fd,
			uint64_t offset, size_t len, struct sbx_error *err);
bool sbx_conn_has_file(const struct sbx_conn *c);

/* Bytes queued and not written yet. */
size_t sbx_conn_queued(const struct sbx_conn *c);

/* Write what the stream takes now. A stream whose end is gone sets eof. */
int sbx_conn_flush(struct sbx_conn *c, struct sbx_error *err);
bool sbx_conn_has_output(const struct sbx_conn *c);

/* Read what there is now, once; the end sets eof. Frames parsed before are invalid after it. */
int sbx_conn_fill(struct sbx_conn *c, struct sbx_error *err);

/* The next whole frame: 1, or 0 when there is none yet, or an error. */
int sbx_conn_next(struct sbx_conn *c, struct wire_frame *ret, struct sbx_error *err);

/* What to poll the stream for. */
struct pollfd sbx_conn_poll(const struct sbx_conn *c);
