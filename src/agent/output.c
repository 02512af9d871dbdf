/* SPDX-License-Identifier: MIT */
#include "agent/output.h"

#include "agent/send.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#define PIPE_SIZE    (1 << 20)
#define READS_A_TURN 16 /* then the other streams and the host have theirs */
#define TAIL_MAX     (64u << 20)
#define QUEUE_MOST   (1u << 20) /* on the stream: beyond that nothing is read for it */

void output_init(struct output *o, int fd, enum wire_type type, bool forward, uint64_t head,
		 uint64_t tail)
{
	*o = (struct output){
		.fd = fd,
		.type = type,
		.forward = forward,
		.head_left = head,
		.credit = WIRE_WINDOW,
		.ring_max = tail < TAIL_MAX ? (size_t)tail : TAIL_MAX,
	};
}

void output_done(struct output *o)
{
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	free(o->ring);
	o->ring = NULL;
}

static bool is_in_head(const struct output *o)
{
	return o->forward || o->head_left > 0;
}

bool output_wants_read(const struct output *o, const struct sbx_conn *conn)
{
	return o->fd >= 0 &&
	       (!is_in_head(o) || (o->credit > 0 && sbx_conn_queued(conn) < QUEUE_MOST));
}

bool output_is_finished(const struct output *o)
{
	return o->fd < 0 && o->ring_len == 0;
}

/* A program that fills the pipe gets a larger one: fewer, longer reads. */
static void grow_pipe(struct output *o)
{
	o->grown = true;
	fcntl(o->fd, F_SETPIPE_SZ, PIPE_SIZE);
}

/* Read a piece and send it at once. Returns what read() did. */
static ssize_t read_to_host(struct output *o, struct sbx_conn *conn, uint32_t channel)
{
	static char piece[WIRE_PAYLOAD_MAX];
	size_t most = sizeof(piece);
	ssize_t n;

	if (most > o->credit)
		most = o->credit;
	if (!o->forward && most > o->head_left)
		most = (size_t)o->head_left;
	n = read(o->fd, piece, most);
	if (n <= 0)
		return n;
	send_bytes(conn, (enum wire_type)o->type, channel, piece, (size_t)n);
	o->credit -= (size_t)n;
	if (!o->forward)
		o->head_left -= (uint64_t)n;
	return n;
}

static bool make_ring(struct output *o)
{
	if (o->ring == NULL && o->ring_max > 0)
		o->ring = malloc(o->ring_max);
	if (o->ring == NULL)
		o->ring_max = 0;
	return o->ring != NULL;
}

/* Nothing is kept: read to forget. */
static ssize_t read_to_nowhere(struct output *o)
{
	static char nowhere[WIRE_PAYLOAD_MAX];
	ssize_t n = read(o->fd, nowhere, sizeof(nowhere));

	if (n > 0)
		o->dropped += (uint64_t)n;
	return n;
}

/* Read over the oldest bytes of the ring. */
static ssize_t read_to_ring(struct output *o)
{
	struct iovec parts[2];
	size_t kept = o->ring_len;
	ssize_t n;

	if (!make_ring(o))
		return read_to_nowhere(o);
	parts[0] = (struct iovec){o->ring + o->ring_at, o->ring_max - o->ring_at};
	parts[1] = (struct iovec){o->ring, o->ring_at};
	n = readv(o->fd, parts, o->ring_at > 0 ? 2 : 1);
	if (n <= 0)
		return n;
	o->ring_at = (o->ring_at + (size_t)n) % o->ring_max;
	o->ring_len = kept + (size_t)n < o->ring_max ? kept + (size_t)n : o->ring_max;
	o->dropped += kept + (size_t)n - o->ring_len;
	return n;
}

static void end(struct output *o)
{
	close(o->fd);
	o->fd = -1;
}

static uint64_t count_waiting(const struct output *o)
{
	int bytes = 0;

	return ioctl(o->fd, FIONREAD, &bytes) == 0 ? (uint64_t)bytes : 0;
}

static void begin_closing(struct output *o)
{
	o->rest = count_waiting(o);
	o->closing = true;
}

void output_mark(struct output *o)
{
	o->marked = o->fd < 0 ? 0 : count_waiting(o);
}

bool output_is_past_mark(const struct output *o)
{
	return o->fd < 0 || o->marked == 0;
}

/* Whether the last of what was in the pipe at the program's end has now been read. */
static bool was_last(struct output *o, uint64_t n)
{
	if (!o->closing)
		return false;
	o->rest -= n < o->rest ? n : o->rest;
	return o->rest == 0;
}

static void read_pipe(struct output *o, struct sbx_conn *conn, uint32_t channel, bool over)
{
	for (int i = 0; i < READS_A_TURN && output_wants_read(o, conn); i++) {
		ssize_t n = is_in_head(o) ? read_to_host(o, conn, channel) : read_to_ring(o);

		if (n > 0) {
			o->total += (uint64_t)n;
			o->marked -= (uint64_t)n < o->marked ? (uint64_t)n : o->marked;
			if (n >= 32768 && !o->grown)
				grow_pipe(o);
			if (was_last(o, (uint64_t)n))
				end(o);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && !over)
			return;
		end(o);
	}
}

/* After the end: the ring, oldest byte first. */
static void send_ring(struct output *o, struct sbx_conn *conn, uint32_t channel)
{
	while (o->ring_len > 0 && o->credit > 0) {
		size_t start = (o->ring_at + o->ring_max - o->ring_len) % o->ring_max;
		size_t n = o->ring_max - start;

		n = n < o->ring_len ? n : o->ring_len;
		n = n < o->credit ? n : o->credit;
		n = n < WIRE_PAYLOAD_MAX ? n : WIRE_PAYLOAD_MAX;
		send_bytes(conn, (enum wire_type)o->type, channel, o->ring + start, n);
		o->credit -= n;
		o->ring_len -= n;
	}
}

void output_pump(struct output *o, struct sbx_conn *conn, uint32_t channel, bool over)
{
	if (o->fd >= 0 && over && !o->closing)
		begin_closing(o);
	if (o->fd >= 0)
		read_pipe(o, conn, channel, over);
	if (o->fd < 0)
		send_ring(o, conn, channel);
}
