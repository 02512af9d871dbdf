/* SPDX-License-Identifier: MIT */
#include "wire/conn.h"

#include <errno.h>
#include <sys/socket.h>
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

int sbx_conn_flush(struct sbx_conn *c, struct sbx_error *err)
{
	while (c->out_at < c->out.len && !c->eof) {
		ssize_t n = send(c->fd, c->out.data + c->out_at, c->out.len - c->out_at,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			c->out_at += (size_t)n;
		else if (errno == EAGAIN)
			return 0;
		else if (errno == EPIPE || errno == ECONNRESET)
			c->eof = true;
		else if (errno != EINTR)
			return sbx_fail_errno(err, errno, "cannot write to the stream");
	}
	return 0;
}

bool sbx_conn_has_output(const struct sbx_conn *c)
{
	return c->out_at < c->out.len && !c->eof;
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
