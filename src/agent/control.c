/* SPDX-License-Identifier: MIT */
#include "agent/control.h"

#include "agent/send.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUEUE_MOST   (1u << 20) /* on the stream: beyond that nothing is read for it */
#define READS_A_TURN 8

void control_init(struct control *c, int fd)
{
	int in_fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);

	*c = (struct control){.fd = fd, .credit = WIRE_WINDOW};
	/* Without a second descriptor nothing can be said to the program: the host is told of an end. */
	c->closing = fd >= 0 && in_fd < 0;
	input_init(&c->in, in_fd, WIRE_FLOW_DATA);
}

void control_done(struct control *c)
{
	input_done(&c->in);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

int control_grant(struct control *c, size_t bytes, struct sbx_error *err)
{
	if (bytes > WIRE_WINDOW - c->credit)
		return sbx_fail(err, SBX_E_PROTOCOL, "more CREDIT than a window");
	c->credit += bytes;
	return 0;
}

static bool may_send(const struct control *c, const struct sbx_conn *conn)
{
	return c->fd >= 0 && c->credit > 0 && sbx_conn_queued(conn) < QUEUE_MOST;
}

struct pollfd control_poll(const struct control *c, const struct sbx_conn *conn)
{
	bool reads = !c->marked && may_send(c, conn), writes = input_wants_write(&c->in);

	/* With neither it is left out: a hang-up would be told again and again. */
	return (struct pollfd){
		.fd = reads || writes ? c->fd : -1,
		.events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)),
	};
}

/* Look what is there, and mark the pipes for it. */
static void look(struct control *c, struct output outputs[2])
{
	static char unread[WIRE_PAYLOAD_MAX];
	ssize_t n = recv(c->fd, unread, sizeof(unread), MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->ready = n > 0 ? (size_t)n : 0;
	c->marked = true;
	for (int i = 0; i < 2; i++)
		output_mark(&outputs[i]);
}

static void end(struct control *c, struct sbx_conn *conn, uint32_t channel)
{
	close(c->fd);
	c->fd = -1;
	c->marked = false;
	send_bytes(conn, WIRE_FINISH, channel, NULL, 0);
}

/* Send what was looked at, as far as there is credit. */
static void send_ready(struct control *c, struct sbx_conn *conn, uint32_t channel)
{
	static char piece[WIRE_PAYLOAD_MAX];
	size_t most = c->ready < c->credit ? c->ready : c->credit;
	ssize_t n;

	if (c->ready == 0) {
		end(c, conn, channel);
		return;
	}
	n = recv(c->fd, piece, most, MSG_DONTWAIT);
	if (n <= 0) {
		c->marked = false;
		return;
	}
	send_bytes(conn, WIRE_DATA, channel, piece, (size_t)n);
	c->credit -= (size_t)n;
	c->ready -= (size_t)n;
	c->rest -= (size_t)n < c->rest ? (size_t)n : c->rest;
	c->marked = c->ready > 0;
}

/* Others may have the other end still: they do not hold back the end of the program. */
static void begin_closing(struct control *c)
{
	int bytes = 0;

	c->closing = true;
	if (ioctl(c->fd, FIONREAD, &bytes) == 0)
		c->rest = (size_t)bytes;
}

/* Whether all was sent that the program wrote to its outputs before what is to be sent now. */
static bool is_due(struct control *c, struct sbx_conn *conn, uint32_t channel,
		   struct output outputs[2], bool over)
{
	if (!c->marked)
		look(c, outputs);
	for (int i = 0; c->marked && i < 2; i++) {
		if (!output_is_past_mark(&outputs[i]))
			output_pump(&outputs[i], conn, channel, over);
	}
	return c->marked && output_is_past_mark(&outputs[0]) && output_is_past_mark(&outputs[1]);
}

static bool is_drained(const struct control *c)
{
	return c->closing && c->rest == 0;
}

void control_pump(struct control *c, struct sbx_conn *conn, uint32_t channel,
		  struct output outputs[2], bool over)
{
	input_pump(&c->in, conn, channel);
	if (c->fd >= 0 && over && !c->closing)
		begin_closing(c);
	for (int i = 0; i < READS_A_TURN && !is_drained(c) && may_send(c, conn); i++) {
		if (!is_due(c, conn, channel, outputs, over))
			return;
		send_ready(c, conn, channel);
	}
	if (c->fd >= 0 && is_drained(c) && output_is_finished(&outputs[0]) &&
	    output_is_finished(&outputs[1]))
		end(c, conn, channel);
}

bool control_is_finished(const struct control *c)
{
	return c->fd < 0;
}
