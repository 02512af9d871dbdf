/* SPDX-License-Identifier: MIT */
/* The bytes of an open connection, both ways, under credit and limits. */
#include "egress/relay_inside.h"

#include "base/auto.h"
#include "base/splice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GRANT_SIZE   (WIRE_CONNECTION_WINDOW / 4)
#define READS_A_TURN 4

/* ---- from the program to the peer ---- */

static void count_up(struct relay_conn *c, size_t n)
{
	relay_limits_spend(&c->relay->limits, n);
	relay_log_count(&c->relay->log, c->number, n, 0);
	c->last_ns = c->relay->now_ns;
}

/* What waits here is not consumed yet. */
static int grant(struct relay_conn *c, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(64);
	size_t waiting = c->up.len - c->up_at;
	struct wire_credit m = {.flow = WIRE_FLOW_DATA, .bytes = (uint32_t)(c->owed - waiting)};

	if (c->up_ended || c->owed < waiting + GRANT_SIZE)
		return 0;
	c->owed = waiting;
	wire_credit_format(&payload, &m);
	return sbx_conn_queue(c->relay->stream, WIRE_CREDIT, c->channel, payload.data, payload.len,
			      err);
}

static int end_if_both_ended(struct relay_conn *c)
{
	if (c->up_ended && !relay_has_up(c) && !c->up_shut) {
		shutdown(c->fd, SHUT_WR);
		c->up_shut = true;
	}
	if (c->up_shut && c->down_ended)
		relay_conn_bury(c);
	return 0;
}

static int end_at_limit(struct relay_conn *c, struct sbx_error *err)
{
	return relay_refuse(c, WIRE_REFUSED_LIMIT,
			    "cut: the session has used up its bytes (a limit)", err);
}

int relay_lose_peer(struct relay_conn *c, int sys_errno, struct sbx_error *err)
{
	char why[128];

	snprintf(why, sizeof(why), "cut by the peer: %.100s", strerror(sys_errno));
	return relay_refuse(c, WIRE_REFUSED_PEER, why, err);
}

/* Write what may be written and what the peer takes: the bytes, or -errno. */
ssize_t relay_write_up(struct relay_conn *c, const void *data, size_t len)
{
	size_t may = relay_limits_allow(&c->relay->limits, len, c->relay->now_ns);
	ssize_t n = may > 0 ? send(c->fd, data, may, MSG_NOSIGNAL) : 0;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n > 0)
		count_up(c, (size_t)n);
	return n;
}

int relay_flush_up(struct relay_conn *c, struct sbx_error *err)
{
	int r;

	while (relay_has_up(c) && !c->checks_greeting) {
		ssize_t n = relay_write_up(c, c->up.data + c->up_at, c->up.len - c->up_at);

		if (n < 0)
			return relay_lose_peer(c, (int)-n, err);
		if (n == 0)
			break;
		c->up_at += (size_t)n;
	}
	if (!relay_has_up(c))
		c->up.len = c->up_at = 0;
	if (relay_limits_are_over(&c->relay->limits))
		return end_at_limit(c, err);
	r = grant(c, err);
	return r < 0 ? r : end_if_both_ended(c);
}

/* What the peer does not take at once is copied and waits, so that the pipe is empty again. */
static void keep_rest(struct relay_conn *c, int pipe, size_t len)
{
	char *at = sbx_buf_reserve(&c->up, len);
	ssize_t n = at ? read(pipe, at, len) : -1;

	if (n == (ssize_t)len) {
		c->up.len += len;
		return;
	}
	c->up.failed = true;
	sbx_splice_discard(pipe, n > 0 ? len - (size_t)n : len);
}

static bool may_take_bulk(struct relay_conn *c, size_t len)
{
	return c->state == RELAY_OPEN && !c->checks_greeting && !c->up_ended && !relay_has_up(c) &&
	       len >= SBX_BULK_LEAST && len <= WIRE_CONNECTION_WINDOW - c->owed &&
	       relay_limits_allow(&c->relay->limits, len, c->relay->now_ns) == len;
}

size_t relay_conn_take_bulk(struct relay_conn *c, int stream_fd, size_t len)
{
	const int *pipe = c->relay->pipe;
	ssize_t n, passed = 0, m = 1;
	struct sbx_error err;

	if (!may_take_bulk(c, len))
		return 0;
	n = sbx_splice_in(stream_fd, pipe[1], len);
	if (n <= 0)
		return 0;
	c->owed += (size_t)n;
	for (; passed < n && m > 0; passed += m > 0 ? m : 0)
		m = sbx_splice_out(pipe[0], c->fd, (size_t)(n - passed));
	count_up(c, (size_t)passed);
	if (passed < n)
		keep_rest(c, pipe[0], (size_t)(n - passed));
	/* A stream that takes nothing more ends with the next message. */
	if (c->up.failed)
		relay_lose_peer(c, ENOMEM, &err);
	else
		relay_flush_up(c, &err);
	if (c->state != RELAY_DEAD)
		relay_conn_watch(c);
	return (size_t)n;
}

/* ---- from the peer to the program ---- */

static int finish_down(struct relay_conn *c, struct sbx_error *err)
{
	int r = sbx_conn_queue(c->relay->stream, WIRE_FINISH, c->channel, NULL, 0, err);

	c->down_ended = true;
	return r < 0 ? r : end_if_both_ended(c);
}

static int count_down(struct relay_conn *c, size_t n, struct sbx_error *err)
{
	c->credit -= n;
	relay_limits_spend(&c->relay->limits, n);
	relay_log_count(&c->relay->log, c->number, 0, n);
	c->last_ns = c->relay->now_ns;
	return relay_limits_are_over(&c->relay->limits) ? end_at_limit(c, err) : 0;
}

/* As read_piece(), without a copy; *ret_done is false where reading must tell. */
static int splice_piece(struct relay_conn *c, size_t most, bool *ret_done, struct sbx_error *err)
{
	ssize_t n = sbx_conn_splice(c->relay->stream, c->channel, c->fd, most);
	int r;

	c->is_bulky = n >= (ssize_t)SBX_BULK_LEAST;
	*ret_done = n != -EAGAIN;
	if (n == -EAGAIN)
		return 0;
	if (n == 0)
		return finish_down(c, err);
	if (n < 0)
		return relay_lose_peer(c, (int)-n, err);
	r = count_down(c, (size_t)n, err);
	return r < 0 ? r : 1;
}

/* Read once, straight into the stream's queue: 1 when there may be more, 0, or -code. */
static int read_piece(struct relay_conn *c, struct sbx_error *err)
{
	struct relay_limits *limits = &c->relay->limits;
	size_t most = c->credit < WIRE_PAYLOAD_MAX ? c->credit : WIRE_PAYLOAD_MAX;
	bool done;
	ssize_t n;
	char *at;
	int r;

	if (relay_limits_are_over(limits))
		return end_at_limit(c, err);
	most = relay_limits_allow(limits, most, c->relay->now_ns);
	if (most == 0)
		return 0;
	if (c->is_bulky && most >= SBX_BULK_LEAST) {
		r = splice_piece(c, most, &done, err);
		if (done)
			return r;
	}
	at = sbx_conn_begin(c->relay->stream, most, err);
	if (at == NULL)
		return -(int)err->code;
	n = recv(c->fd, at, most, 0);
	if (n == 0)
		return finish_down(c, err);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : relay_lose_peer(c, errno, err);
	sbx_conn_commit(c->relay->stream, WIRE_DATA, c->channel, (size_t)n);
	if (most >= 2 * SBX_BULK_LEAST)
		c->is_bulky = n >= (ssize_t)(2 * SBX_BULK_LEAST);
	r = count_down(c, (size_t)n, err);
	return r < 0 ? r : (size_t)n == most;
}

int relay_read_down(struct relay_conn *c, struct sbx_error *err)
{
	int r = 1;

	for (int i = 0; i < READS_A_TURN && r > 0; i++) {
		if (c->state != RELAY_OPEN || c->down_ended || !relay_has_credit(c))
			return 0;
		r = read_piece(c, err);
	}
	return r < 0 ? r : 0;
}
