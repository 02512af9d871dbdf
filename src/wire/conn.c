/* SPDX-License-Identifier: MIT */
#include "wire/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define READ_SIZE (256u << 10)
#define OUT_MAX	  (WIRE_MESSAGE_MAX + (1u << 20))

void sbx_conn_init(struct sbx_conn *c, int fd, char peer)
{
	*c = (struct sbx_conn){
		.fd = fd,
		.peer = peer,
		.in = SBX_BUF_INIT(2 * READ_SIZE),
		.out = SBX_BUF_INIT(OUT_MAX),
	};
}

void sbx_conn_done(struct sbx_conn *c)
{
	if (c->file_left > 0)
		close(c->file_fd);
	c->file_left = 0;
	sbx_buf_done(&c->in);
	sbx_buf_done(&c->out);
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
	c->file_mark -= c->file_left > 0 ? c->out_at : 0;
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

int sbx_conn_queue_file(struct sbx_conn *c, enum wire_type type, uint32_t channel, int fd,
			uint64_t offset, size_t len, struct sbx_error *err)
{
	uint8_t header[WIRE_HEADER_SIZE];
	int own_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (own_fd < 0)
		return sbx_fail_errno(err, errno, "cannot queue a %s message", wire_type_name(type));
	forget_written(c);
	wire_header_format(header, type, channel, len);
	sbx_buf_append(&c->out, header, sizeof(header));
	if (c->out.failed) {
		close(own_fd);
		return sbx_fail_errno(err, ENOMEM, "cannot queue a %s message", wire_type_name(type));
	}
	c->file_fd = own_fd;
	c->file_at = offset;
	c->file_left = len;
	c->file_mark = c->out.len;
	c->file_failed = false;
	return 0;
}

bool sbx_conn_has_file(const struct sbx_conn *c)
{
	return c->file_left > 0 && !c->eof;
}

size_t sbx_conn_queued(const struct sbx_conn *c)
{
	return c->out.len - c->out_at + c->file_left;
}

/*
 * sendfile(2) has no MSG_NOSIGNAL: a peer that is gone raises SIGPIPE, which is not ours to
 * handle. It is for the thread that wrote, so that thread can hold it back and take it.
 */
static ssize_t send_quietly(int to, int from, off_t offset, size_t len)
{
	const struct timespec now = {0};
	sigset_t pipe_only, before, pending;
	ssize_t n;
	int result;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
	n = sendfile(to, from, &offset, len);
	result = errno;
	if (n < 0 && result == EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe_only, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = result;
	return n;
}

/* Where sendfile() cannot: a piece by way of memory, or of zeros where the file has no bytes. */
static ssize_t send_piece(struct sbx_conn *c)
{
	char piece[4096] = {0};
	size_t len = c->file_left < sizeof(piece) ? c->file_left : sizeof(piece);
	ssize_t n = c->file_failed ? 0 : pread(c->file_fd, piece, len, (off_t)c->file_at);

	if (n < 0)
		c->file_failed = true;
	return send(c->fd, piece, n > 0 ? (size_t)n : len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t send_file(struct sbx_conn *c)
{
	ssize_t n = send_quietly(c->fd, c->file_fd, (off_t)c->file_at, c->file_left);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR && errno != EPIPE &&
		       errno != ECONNRESET))
		n = send_piece(c);
	if (n > 0) {
		c->file_at += (size_t)n;
		c->file_left -= (size_t)n;
		if (c->file_left == 0)
			close(c->file_fd);
	}
	return n;
}

static ssize_t send_queued(struct sbx_conn *c, size_t end)
{
	ssize_t n = send(c->fd, c->out.data + c->out_at, end - c->out_at,
			 MSG_NOSIGNAL | MSG_DONTWAIT | (c->file_left > 0 ? MSG_MORE : 0));

	if (n > 0)
		c->out_at += (size_t)n;
	return n;
}

int sbx_conn_flush(struct sbx_conn *c, struct sbx_error *err)
{
	while (sbx_conn_has_output(c)) {
		size_t end = c->file_left > 0 ? c->file_mark : c->out.len;
		ssize_t n = c->out_at < end ? send_queued(c, end) : send_file(c);

		if (n >= 0)
			continue;
		if (errno == EAGAIN)
			return 0;
		if (errno == EPIPE || errno == ECONNRESET)
			c->eof = true;
		else if (errno != EINTR)
			return sbx_fail_errno(err, errno, "cannot write to the stream");
	}
	return 0;
}

bool sbx_conn_has_output(const struct sbx_conn *c)
{
	return sbx_conn_queued(c) > 0 && !c->eof;
}

int sbx_conn_fill(struct sbx_conn *c, struct sbx_error *err)
{
	char *at;
	ssize_t n;

	sbx_buf_consume(&c->in, c->in_at);
	c->in_at = 0;
	at = sbx_buf_reserve(&c->in, READ_SIZE);
	if (at == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot read from the stream");

	n = recv(c->fd, at, READ_SIZE, MSG_DONTWAIT);
	if (n > 0)
		c->in.len += (size_t)n;
	else if (n == 0 || errno == ECONNRESET)
		c->eof = true;
	else if (errno != EAGAIN && errno != EINTR)
		return sbx_fail_errno(err, errno, "cannot read from the stream");
	return 0;
}

int sbx_conn_next(struct sbx_conn *c, struct wire_frame *ret, struct sbx_error *err)
{
	int took;

	if (c->in.len == c->in_at)
		return 0;
	took = wire_frame_parse((const uint8_t *)c->in.data + c->in_at, c->in.len - c->in_at,
				c->peer, ret);
	if (took < 0)
		return sbx_fail(err, SBX_E_PROTOCOL, "the other end of the stream sent a malformed frame");
	c->in_at += (size_t)took;
	return took > 0;
}

struct pollfd sbx_conn_poll(const struct sbx_conn *c)
{
	short events = sbx_conn_has_output(c) ? POLLIN | POLLOUT : POLLIN;

	return (struct pollfd){.fd = c->fd, .events = events};
}
