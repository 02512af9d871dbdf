/* SPDX-License-Identifier: MIT */
#include "agent/input.h"

#include "agent/send.h"

#include <errno.h>
#include <unistd.h>

void input_init(struct input *in, int fd, enum wire_flow flow)
{
	*in = (struct input){.fd = fd, .flow = flow, .waiting = SBX_BUF_INIT(WIRE_WINDOW)};
}

static void close_pipe(struct input *in)
{
	if (in->fd >= 0)
		close(in->fd);
	in->fd = -1;
}

void input_done(struct input *in)
{
	close_pipe(in);
	sbx_buf_done(&in->waiting);
}

bool input_add(struct input *in, const void *data, size_t len)
{
	if (len > WIRE_WINDOW - in->owed || in->ended)
		return false;
	in->owed += len;
	sbx_buf_consume(&in->waiting, in->at);
	in->at = 0;
	sbx_buf_append(&in->waiting, data, len);
	return !in->waiting.failed;
}

void input_end(struct input *in)
{
	in->ended = true;
}

bool input_wants_write(const struct input *in)
{
	return in->fd >= 0 && in->at < in->waiting.len;
}

static void write_waiting(struct input *in)
{
	while (input_wants_write(in)) {
		ssize_t n = write(in->fd, in->waiting.data + in->at, in->waiting.len - in->at);

		if (n > 0)
			in->at += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			return;
		else if (n == 0 || errno != EINTR)
			close_pipe(in);
	}
}

void input_pump(struct input *in, struct sbx_conn *conn, uint32_t channel)
{
	write_waiting(in);
	if (input_wants_write(in))
		return;
	in->at = in->waiting.len;
	if (in->owed > 0 && !in->ended)
		send_credit(conn, channel, in->flow, in->owed);
	in->owed = 0;
	if (in->ended)
		close_pipe(in);
}
