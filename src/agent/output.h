/* SPDX-License-Identifier: MIT */
/*
 * One output stream of a program on its way to the host.
 *
 * Forwarding: every byte is sent, as far as the host gives credit; without credit the pipe is
 * left to fill, which holds the program back. Capturing: the first head bytes are sent the same
 * way; of the rest only the last tail bytes are kept, in a ring, and sent at the end, so that a
 * program that prints gigabytes is slowed by nothing but this copy.
 */
#pragma once

#include "wire/conn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output {
	int fd;	       /* our end of the pipe, or -1 once it has ended */
	uint32_t type; /* WIRE_STDOUT or WIRE_STDERR */
	bool forward;
	bool grown; /* the pipe was made larger */
	bool closing;  /* the program is over, and … */
	uint64_t rest; /* … what was in the pipe then and was not read yet */
	uint64_t marked; /* of what was in the pipe at output_mark(), not read yet */
	uint64_t head_left;
	size_t credit;
	char *ring;
	size_t ring_max, ring_len, ring_at;
	uint64_t total, dropped;
};

void output_init(struct output *o, int fd, enum wire_type type, bool forward, uint64_t head,
		 uint64_t tail);
void output_done(struct output *o);

/*
 * Whether reading the pipe would get us on. What is to be sent waits while much is queued: all
 * streams together have more credit than the queue has room.
 */
bool output_wants_read(const struct output *o, const struct sbx_conn *conn);

/* Read what there is, within reason, and send what may be sent. When the program is over, what
 * is in the pipe then is the last of it: others may have it open and write for ever. */
void output_pump(struct output *o, struct sbx_conn *conn, uint32_t channel, bool over);

/* Remember what is in the pipe now; and whether all of that was read. */
void output_mark(struct output *o);
bool output_is_past_mark(const struct output *o);

/* All was read and sent. */
bool output_is_finished(const struct output *o);
