/* SPDX-License-Identifier: MIT */
#include "agent/proxy_client.h"

#include "agent/proxy_ask.h"
#include "agent/send.h"
#include "base/clock.h"
#include "base/splice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ASKING_MS    30000 /* to say what it wants */
#define LEAVING_MS   3000  /* to take the answer and go */
#define GRANT_SIZE   (WIRE_CONNECTION_WINDOW / 4)
#define QUEUE_MOST   (1u << 20) /* on the stream: beyond that no client is read */
#define READS_A_TURN 4
#define TEXT_MOST    4096

struct client *client_new(int fd, uint32_t channel)
{
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		close(fd);
		return NULL;
	}
	c->fd = fd;
	c->channel = channel;
	c->in = (struct sbx_buf)SBX_BUF_INIT(HTTP_HEAD_MAX);
	c->head = (struct sbx_buf)SBX_BUF_INIT(HTTP_HEAD_MAX + 512);
	/* A window, and the answer that goes before it. */
	c->out = (struct sbx_buf)SBX_BUF_INIT(WIRE_CONNECTION_WINDOW + TEXT_MOST + 1024);
	c->credit = WIRE_CONNECTION_WINDOW;
	c->deadline_ns = sbx_deadline_ns(ASKING_MS);
	c->poll_at = SIZE_MAX;
	return c;
}

void client_free(struct client *c)
{
	close(c->fd);
	sbx_buf_done(&c->in);
	sbx_buf_done(&c->head);
	sbx_buf_done(&c->out);
	free(c);
}

static bool has_channel(const struct client *c)
{
	return c->phase == CLIENT_WAITING || c->phase == CLIENT_OPEN;
}

/* Without a further word to the client. */
void client_drop(struct client *c, struct sbx_conn *conn)
{
	if (has_channel(c))
		send_bytes(conn, WIRE_CLOSE, c->channel, NULL, 0);
	c->phase = CLIENT_GONE;
}

/* ---- to the client ---- */

static bool has_output(const struct client *c)
{
	return c->out_at < c->out.len;
}

void client_put(struct client *c, const void *data, size_t len)
{
	sbx_buf_append(&c->out, data, len);
}

/* Write what it takes: false when it is gone. */
static bool write_out(struct client *c)
{
	while (has_output(c)) {
		ssize_t n =
			send(c->fd, c->out.data + c->out_at, c->out.len - c->out_at, MSG_NOSIGNAL);

		if (n >= 0)
			c->out_at += (size_t)n;
		else if (errno == EAGAIN)
			return true;
		else if (errno != EINTR)
			return false;
	}
	c->out.len = c->out_at = 0;
	return true;
}

static void grant(struct client *c, struct sbx_conn *conn)
{
	size_t waiting = c->out.len - c->out_at;

	/* What waits here is not consumed yet. */
	if (c->phase != CLIENT_OPEN || c->out_ended || c->owed < waiting + GRANT_SIZE)
		return;
	send_credit(conn, c->channel, WIRE_FLOW_DATA, c->owed - waiting);
	c->owed = waiting;
}

static void end_if_both_ended(struct client *c, struct sbx_conn *conn)
{
	if (c->phase != CLIENT_OPEN || !c->out_ended || has_output(c))
		return;
	if (!c->out_shut)
		shutdown(c->fd, SHUT_WR);
	c->out_shut = true;
	/* The one answer to one request has come: its connection is over. */
	if (c->has_body && !c->in_finished) {
		send_bytes(conn, WIRE_FINISH, c->channel, NULL, 0);
		c->in_finished = true;
	}
	if (!c->in_finished)
		return;
	c->phase = c->has_body ? CLIENT_LEAVING : CLIENT_GONE;
	c->deadline_ns = sbx_deadline_ns(LEAVING_MS);
}

void client_flush(struct client *c, struct sbx_conn *conn)
{
	if (!write_out(c)) {
		client_drop(c, conn);
		return;
	}
	grant(c, conn);
	end_if_both_ended(c, conn);
	if (c->phase == CLIENT_LEAVING && !has_output(c) && !c->out_shut) {
		shutdown(c->fd, SHUT_WR);
		c->out_shut = true;
	}
}

void client_leave(struct client *c, struct sbx_conn *conn)
{
	c->phase = CLIENT_LEAVING;
	c->deadline_ns = sbx_deadline_ns(LEAVING_MS);
	client_flush(c, conn);
}

/* ---- from the client to the host ---- */

/* No more will come from it: the host is told, unless one request is all there was to be. */
static void finish_in(struct client *c, struct sbx_conn *conn)
{
	c->in_ended = true;
	if (c->has_body && c->body.done)
		return;
	if (c->has_body) {
		client_drop(c, conn); /* it stopped in the middle of its request */
		return;
	}
	send_bytes(conn, WIRE_FINISH, c->channel, NULL, 0);
	c->in_finished = true;
	end_if_both_ended(c, conn);
}

/* How many of these bytes go on: all of a tunnel's, of a request those of its body. -1: gone. */
static long filter(struct client *c, struct sbx_conn *conn, const char *data, size_t len)
{
	long n = c->has_body ? http_body_take(&c->body, data, len) : (long)len;

	if (n < 0)
		client_drop(c, conn);
	return n;
}

/* As read_piece(), without a copy; *ret_done is false where reading must tell. */
static bool splice_piece(struct client *c, struct sbx_conn *conn, size_t most, bool *ret_done)
{
	ssize_t n = sbx_conn_splice(conn, c->channel, c->fd, most);

	c->is_bulky = n >= (ssize_t)SBX_BULK_LEAST;
	*ret_done = n != -EAGAIN;
	if (n == 0)
		finish_in(c, conn);
	else if (n < 0 && n != -EAGAIN)
		client_drop(c, conn);
	if (n <= 0)
		return false;
	c->credit -= (size_t)n;
	return true;
}

/* Read once into the stream's queue: false when there is nothing more to be had now. */
static bool read_piece(struct client *c, struct sbx_conn *conn)
{
	size_t most = c->credit < WIRE_PAYLOAD_MAX ? c->credit : WIRE_PAYLOAD_MAX;
	struct sbx_error ignored;
	bool done = false, more;
	long passed;
	ssize_t n;
	char *at;

	if (c->is_bulky && !c->has_body && most >= SBX_BULK_LEAST) {
		more = splice_piece(c, conn, most, &done);
		if (done)
			return more;
	}
	at = sbx_conn_begin(conn, most, &ignored);
	n = at ? recv(c->fd, at, most, 0) : -1;
	if (n == 0)
		finish_in(c, conn);
	else if (n < 0 && at != NULL && errno != EAGAIN && errno != EINTR)
		client_drop(c, conn);
	if (n <= 0)
		return false;
	passed = filter(c, conn, at, (size_t)n);
	if (passed <= 0)
		return false;
	sbx_conn_commit(conn, WIRE_DATA, c->channel, (size_t)passed);
	c->credit -= (size_t)passed;
	if (most >= 2 * SBX_BULK_LEAST)
		c->is_bulky = n >= (ssize_t)(2 * SBX_BULK_LEAST);
	return (size_t)n == most;
}

/* Who sends much does not begin with what a nearly empty window still takes: more is to come. */
static bool has_credit(const struct client *c)
{
	return c->credit >= (c->is_bulky ? SBX_BULK_LEAST : 1);
}

static bool wants_read(const struct client *c, const struct sbx_conn *conn)
{
	if (c->phase == CLIENT_ASKING || c->phase == CLIENT_LEAVING)
		return true;
	return c->phase == CLIENT_OPEN && !c->in_ended && has_credit(c) &&
	       !(c->has_body && c->body.done) && sbx_conn_queued(conn) < QUEUE_MOST;
}

/* What came before the host's answer did. */
static void pass_early_bytes(struct client *c, struct sbx_conn *conn)
{
	long n = c->in.len > 0 ? filter(c, conn, c->in.data, c->in.len) : 0;

	if (n > 0) {
		send_bytes(conn, WIRE_DATA, c->channel, c->in.data, (size_t)n);
		c->credit -= (size_t)n;
	}
	sbx_buf_done(&c->in);
}

/* Nothing of it is wanted any more; its end is waited for, so that it can read the answer. */
static void read_leaving(struct client *c)
{
	static char nowhere[16384];
	ssize_t n = recv(c->fd, nowhere, sizeof(nowhere), 0);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		c->phase = CLIENT_GONE;
}

/* ---- the loop ---- */

short client_events(const struct client *c, const struct sbx_conn *conn)
{
	return (short)((wants_read(c, conn) ? POLLIN : 0) | (has_output(c) ? POLLOUT : 0));
}

void client_pump(struct client *c, struct sbx_conn *conn, short revents)
{
	if (has_output(c) && revents & (POLLOUT | POLLERR | POLLHUP))
		client_flush(c, conn);
	if (!(revents & (POLLIN | POLLHUP | POLLERR)))
		return;
	if (c->phase == CLIENT_ASKING)
		client_read_request(c, conn);
	else if (c->phase == CLIENT_LEAVING)
		read_leaving(c);
	for (int i = 0; i < READS_A_TURN && c->phase == CLIENT_OPEN && wants_read(c, conn); i++) {
		if (!read_piece(c, conn))
			return;
	}
}

void client_expire(struct client *c, struct sbx_conn *conn)
{
	client_drop(c, conn);
}

/* ---- from the host ---- */

static int break_off(const struct wire_frame *frame, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_PROTOCOL, "a %s for a connection is out of turn",
			wire_type_name(frame->type));
}

static int take_opened(struct client *c, struct sbx_conn *conn, const struct wire_frame *frame,
		       struct sbx_error *err)
{
	if (c->phase != CLIENT_WAITING)
		return break_off(frame, err);
	c->phase = CLIENT_OPEN;
	client_answer_opened(c, conn);
	pass_early_bytes(c, conn);
	if (c->phase == CLIENT_OPEN)
		client_flush(c, conn);
	return 0;
}

static int take_refused(struct client *c, struct sbx_conn *conn, const struct wire_frame *frame,
			struct sbx_error *err)
{
	struct wire_refused m;

	if (c->phase != CLIENT_WAITING || !wire_refused_parse(frame->payload, frame->len, &m))
		return break_off(frame, err);
	if (strlen(m.text) > TEXT_MOST)
		m.text[TEXT_MOST] = '\0';
	client_answer_refused(c, &m);
	wire_refused_done(&m);
	client_leave(c, conn);
	return 0;
}

static int take_data(struct client *c, struct sbx_conn *conn, const struct wire_frame *frame,
		     struct sbx_error *err)
{
	size_t at = 0;

	if (c->phase != CLIENT_OPEN || c->out_ended ||
	    frame->len > WIRE_CONNECTION_WINDOW - c->owed)
		return break_off(frame, err);
	c->owed += frame->len;
	while (!has_output(c) && at < frame->len) {
		ssize_t n = send(c->fd, frame->payload + at, frame->len - at, MSG_NOSIGNAL);

		if (n < 0)
			break; /* client_flush() meets it again */
		at += (size_t)n;
	}
	if (c->out_at > 0) {
		sbx_buf_consume(&c->out, c->out_at);
		c->out_at = 0;
	}
	client_put(c, frame->payload + at, frame->len - at);
	if (c->out.failed)
		client_drop(c, conn);
	else
		client_flush(c, conn);
	return 0;
}

/* What the client does not take at once is copied and waits, so that the pipe is empty again. */
static void keep_rest(struct client *c, int pipe, size_t len)
{
	char *at = sbx_buf_reserve(&c->out, len);
	ssize_t n = at ? read(pipe, at, len) : -1;

	if (n == (ssize_t)len) {
		c->out.len += len;
		return;
	}
	c->out.failed = true;
	sbx_splice_discard(pipe, n > 0 ? len - (size_t)n : len);
}

size_t client_take_bulk(struct client *c, struct sbx_conn *conn, const struct client_bulk *bulk)
{
	ssize_t n, passed = 0, m = 1;

	if (c->phase != CLIENT_OPEN || c->out_ended || has_output(c) ||
	    bulk->len < SBX_BULK_LEAST || bulk->len > WIRE_CONNECTION_WINDOW - c->owed)
		return 0;
	n = sbx_splice_in(bulk->stream_fd, bulk->pipe[1], bulk->len);
	if (n <= 0)
		return 0;
	c->owed += (size_t)n;
	for (; passed < n && m > 0; passed += m > 0 ? m : 0)
		m = sbx_splice_out(bulk->pipe[0], c->fd, (size_t)(n - passed));
	if (passed < n)
		keep_rest(c, bulk->pipe[0], (size_t)(n - passed));
	if (c->out.failed)
		client_drop(c, conn);
	else
		client_flush(c, conn);
	return (size_t)n;
}

static int take_credit(struct client *c, const struct wire_frame *frame, struct sbx_error *err)
{
	struct wire_credit m;

	if (c->phase != CLIENT_OPEN || !wire_credit_parse(frame->payload, frame->len, &m) ||
	    m.flow != WIRE_FLOW_DATA || m.bytes > WIRE_CONNECTION_WINDOW - c->credit)
		return break_off(frame, err);
	c->credit += m.bytes;
	return 0;
}

static int take_finish(struct client *c, struct sbx_conn *conn, const struct wire_frame *frame,
		       struct sbx_error *err)
{
	if (c->phase != CLIENT_OPEN || c->out_ended)
		return break_off(frame, err);
	c->out_ended = true;
	client_flush(c, conn);
	return 0;
}

int client_take(struct client *c, struct sbx_conn *conn, const struct wire_frame *frame,
		struct sbx_error *err)
{
	/* Our own end of the channel may have crossed what the host sent before it knew. */
	if (!has_channel(c))
		return 0;
	switch ((int)frame->type) {
	case WIRE_OPENED:
		return take_opened(c, conn, frame, err);
	case WIRE_REFUSED:
		return take_refused(c, conn, frame, err);
	case WIRE_DATA:
		return take_data(c, conn, frame, err);
	case WIRE_CREDIT:
		return take_credit(c, frame, err);
	case WIRE_FINISH:
		return take_finish(c, conn, frame, err);
	case WIRE_CLOSE:
		c->phase = CLIENT_GONE;
		return 0;
	default:
		return break_off(frame, err);
	}
}
