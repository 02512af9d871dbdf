/* SPDX-License-Identifier: MIT */
#include "wire/conn.h"

#include "base/splice.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE (256u << 10)
#define OUT_MAX	  (WIRE_MESSAGE_MAX + (1u << 20))
#define PIPE_ROOM (1 << 20)
#define SOCKET_ROOM (1 << 20)

/* A turn takes no more from the stream than it does without a taker. */
#define HEADERS_A_TURN 16

void sbx_conn_init(struct sbx_conn *c, int fd, char peer)
{
	*c = (struct sbx_conn){
		.fd = fd,
		.out_fd = -1,
		.peer = peer,
		.in = SBX_BUF_INIT(2 * READ_SIZE),
		.out = SBX_BUF_INIT(OUT_MAX),
		.bulk_out.pipe = {-1, -1},
	};
}

void sbx_conn_init_pipes(struct sbx_conn *c, int in_fd, int out_fd, char peer)
{
	sbx_conn_init(c, in_fd, peer);
	c->out_fd = out_fd;
}

void sbx_conn_done(struct sbx_conn *c)
{
	sbx_buf_done(&c->in);
	sbx_buf_done(&c->out);
	for (int i = 0; i < 2; i++) {
		if (c->bulk_out.pipe[i] >= 0)
			close(c->bulk_out.pipe[i]);
		c->bulk_out.pipe[i] = -1;
	}
}

static void append_frame(struct sbx_conn *c, unsigned int type, uint32_t channel,
			 const void *payload, size_t len)
{
	uint8_t header[WIRE_HEADER_SIZE];

	wire_header_format(header, type, channel, len);
	sbx_buf_append(&c->out, header, sizeof(header));
	sbx_buf_append(&c->out, payload, len);
}

/*
 * What was written makes room again, also when the queue is never empty; moving no more than was
 * written keeps the cost of it below the cost of the writing.
 */
static void forget_written(struct sbx_conn *c)
{
	if (c->out_at < c->out.len - c->out_at)
		return;
	sbx_buf_consume(&c->out, c->out_at);
	for (unsigned int i = 0; i < c->bulk_out.count; i++)
		c->bulk_out.parts[i].at -= c->out_at;
	c->out_at = 0;
}

int sbx_conn_queue(struct sbx_conn *c, enum wire_type type, uint32_t channel, const void *payload,
		   size_t len, struct sbx_error *err)
{
	const char *at = payload;

	if (len > WIRE_MESSAGE_MAX)
		return sbx_fail(err, SBX_E_LIMIT,
				"arguments and environment together are larger than %u bytes",
				WIRE_MESSAGE_MAX);
	forget_written(c);
	for (; len > WIRE_PAYLOAD_MAX; at += WIRE_PAYLOAD_MAX, len -= WIRE_PAYLOAD_MAX)
		append_frame(c, type | WIRE_MORE, channel, at, WIRE_PAYLOAD_MAX);
	append_frame(c, type, channel, at, len);
	if (c->out.failed)
		return sbx_fail_errno(err, ENOMEM, "cannot queue a %s message", wire_type_name(type));
	return 0;
}

char *sbx_conn_begin(struct sbx_conn *c, size_t len, struct sbx_error *err)
{
	char *at;

	forget_written(c);
	at = sbx_buf_reserve(&c->out, WIRE_HEADER_SIZE + len);
	if (at == NULL) {
		sbx_fail_errno(err, ENOMEM, "cannot queue a message");
		return NULL;
	}
	return at + WIRE_HEADER_SIZE;
}

void sbx_conn_commit(struct sbx_conn *c, enum wire_type type, uint32_t channel, size_t used)
{
	wire_header_format((uint8_t *)c->out.data + c->out.len, type, channel, used);
	c->out.len += WIRE_HEADER_SIZE + used;
}

/* ---- writing ---- */

static int out_fd(const struct sbx_conn *c)
{
	return c->out_fd >= 0 ? c->out_fd : c->fd;
}

void sbx_conn_widen(struct sbx_conn *c)
{
	int room = SOCKET_ROOM;

	setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
}

/* Room for one more payload of len bytes, in the pipe and for its header: 0 or -errno. */
static int prepare_part(struct sbx_conn *c, size_t len)
{
	struct sbx_bulk_out *bulk = &c->bulk_out;

	if (bulk->count == SBX_BULK_PARTS || bulk->bytes + len > PIPE_ROOM)
		return -EAGAIN;
	if (bulk->pipe[0] < 0 && sbx_splice_pipe(bulk->pipe, PIPE_ROOM) < 0)
		return -EAGAIN;
	forget_written(c);
	/* The header must find room once the payload has left its place. */
	return sbx_buf_reserve(&c->out, WIRE_HEADER_SIZE) == NULL ? -ENOMEM : 0;
}

/* n bytes are in the pipe, if it is more than 0. */
static ssize_t add_part(struct sbx_conn *c, uint32_t channel, ssize_t n)
{
	struct sbx_bulk_out *bulk = &c->bulk_out;
	uint8_t header[WIRE_HEADER_SIZE];

	if (n <= 0)
		return n;
	wire_header_format(header, WIRE_DATA, channel, (size_t)n);
	sbx_buf_append(&c->out, header, sizeof(header));
	bulk->parts[bulk->count++] = (struct sbx_bulk_part){.at = c->out.len, .len = (size_t)n};
	bulk->bytes += (size_t)n;
	return n;
}

ssize_t sbx_conn_splice(struct sbx_conn *c, uint32_t channel, int fd, size_t len)
{
	int r = prepare_part(c, len);

	return r < 0 ? r : add_part(c, channel, sbx_splice_in(fd, c->bulk_out.pipe[1], len));
}

ssize_t sbx_conn_splice_file(struct sbx_conn *c, uint32_t channel, int fd, uint64_t offset,
			     size_t len)
{
	int r = prepare_part(c, len);

	return r < 0 ? r
		     : add_part(c, channel,
				sbx_splice_file(fd, offset, c->bulk_out.pipe[1], len));
}

static ssize_t write_part(struct sbx_conn *c)
{
	struct sbx_bulk_out *bulk = &c->bulk_out;
	ssize_t n = sbx_splice_out(bulk->pipe[0], out_fd(c), bulk->parts[0].len);

	if (n <= 0)
		return n < 0 ? n : -EIO;
	bulk->bytes -= (size_t)n;
	bulk->parts[0].len -= (size_t)n;
	if (bulk->parts[0].len == 0)
		memmove(bulk->parts, bulk->parts + 1, --bulk->count * sizeof(bulk->parts[0]));
	return n;
}

/* Queued bytes up to the next spliced payload, or of that one. What moved, or -errno. */
static ssize_t write_some(struct sbx_conn *c)
{
	size_t end = c->bulk_out.count > 0 ? c->bulk_out.parts[0].at : c->out.len;
	ssize_t n;

	if (c->out_at == end)
		return write_part(c);
	if (c->out_fd >= 0)
		n = write(c->out_fd, c->out.data + c->out_at, end - c->out_at);
	else
		n = send(c->fd, c->out.data + c->out_at, end - c->out_at,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	c->out_at += (size_t)n;
	return n;
}

int sbx_conn_flush(struct sbx_conn *c, struct sbx_error *err)
{
	while (sbx_conn_has_output(c)) {
		ssize_t n = write_some(c);

		if (n == -EAGAIN)
			return 0;
		if (n == -EPIPE || n == -ECONNRESET)
			c->eof = true;
		else if (n < 0 && n != -EINTR)
			return sbx_fail_errno(err, (int)-n, "cannot write to the stream");
	}
	return 0;
}

bool sbx_conn_has_output(const struct sbx_conn *c)
{
	return sbx_conn_queued(c) > 0 && !c->eof;
}

/* ---- reading ---- */

/* Read once, at most `most` bytes, behind what is there: whether any came. */
static int read_bytes(struct sbx_conn *c, size_t most, bool *ret_some, struct sbx_error *err)
{
	char *at;
	ssize_t n;

	*ret_some = false;
	at = sbx_buf_reserve(&c->in, most);
	if (at == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot read from the stream");
	n = c->out_fd >= 0 ? read(c->fd, at, most) : recv(c->fd, at, most, MSG_DONTWAIT);
	if (n > 0)
		c->in.len += (size_t)n;
	else if (n == 0 || errno == ECONNRESET)
		c->eof = true;
	else if (errno != EAGAIN && errno != EINTR)
		return sbx_fail_errno(err, errno, "cannot read from the stream");
	*ret_some = n > 0;
	return 0;
}

static size_t buffered(const struct sbx_conn *c)
{
	return c->in.len - c->in_at;
}

static bool is_bulk(const struct wire_frame *frame)
{
	return frame->type == WIRE_DATA && frame->channel & WIRE_FROM_AGENT && frame->len > 0;
}

/*
 * From one header to the next. Payloads that the taker wants never come here; at the first thing
 * that it does not, the rest of that is read and left for sbx_conn_next().
 */
static int read_by_headers(struct sbx_conn *c, struct sbx_error *err)
{
	struct sbx_bulk_in *bulk = &c->bulk_in;
	struct wire_frame frame;
	bool some = true;
	int r = 0;

	for (int i = 0; i < HEADERS_A_TURN && r == 0 && some; i++) {
		size_t have = buffered(c), taken;

		if (bulk->left > 0) {
			taken = have > 0 ? 0 : bulk->take(bulk->owner, bulk->channel, c->fd, bulk->left);
			if (taken == 0)
				return have > 0 ? 0 : read_bytes(c, bulk->left, &some, err);
			bulk->left -= taken;
			continue;
		}
		if (have < WIRE_HEADER_SIZE) {
			r = read_bytes(c, WIRE_HEADER_SIZE - have, &some, err);
			continue;
		}
		/* A malformed one is for sbx_conn_next() to meet. */
		if (wire_header_parse((uint8_t *)c->in.data + c->in_at, have, c->peer, &frame) < 0)
			return 0;
		if (!is_bulk(&frame))
			return have < WIRE_HEADER_SIZE + frame.len
				       ? read_bytes(c, WIRE_HEADER_SIZE + frame.len - have, &some, err)
				       : 0;
		c->in_at += WIRE_HEADER_SIZE;
		bulk->left = frame.len;
		bulk->channel = frame.channel;
	}
	return r;
}

int sbx_conn_fill(struct sbx_conn *c, struct sbx_error *err)
{
	bool some;

	sbx_buf_consume(&c->in, c->in_at);
	c->in_at = 0;
	if (c->bulk_in.take != NULL)
		return read_by_headers(c, err);
	return read_bytes(c, READ_SIZE, &some, err);
}

/* What has come of a payload that nobody took. */
static int next_part(struct sbx_conn *c, struct wire_frame *ret)
{
	size_t n = buffered(c) < c->bulk_in.left ? buffered(c) : c->bulk_in.left;

	*ret = (struct wire_frame){
		.type = WIRE_DATA,
		.channel = c->bulk_in.channel,
		.payload = (uint8_t *)c->in.data + c->in_at,
		.len = n,
	};
	c->in_at += n;
	c->bulk_in.left -= n;
	return 1;
}

int sbx_conn_next(struct sbx_conn *c, struct wire_frame *ret, struct sbx_error *err)
{
	int took;

	if (c->in.len == c->in_at)
		return 0;
	if (c->bulk_in.left > 0)
		return next_part(c, ret);
	took = wire_frame_parse((const uint8_t *)c->in.data + c->in_at, c->in.len - c->in_at,
				c->peer, ret);
	if (took < 0)
		return sbx_fail(err, SBX_E_PROTOCOL, "the other end of the stream sent a malformed frame");
	c->in_at += (size_t)took;
	return took > 0;
}

struct pollfd sbx_conn_poll(const struct sbx_conn *c)
{
	bool both = c->out_fd < 0 && sbx_conn_has_output(c);

	return (struct pollfd){.fd = c->fd, .events = both ? POLLIN | POLLOUT : POLLIN};
}

struct pollfd sbx_conn_poll_out(const struct sbx_conn *c)
{
	int fd = sbx_conn_has_output(c) ? c->out_fd : -1;

	return (struct pollfd){.fd = fd, .events = POLLOUT};
}
