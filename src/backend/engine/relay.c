/* SPDX-License-Identifier: MIT */
#include "backend/engine/relay.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADER	    8
#define STREAM_ERR  2
#define BUFFER_SIZE (256u << 10)

/* What waits in one direction. */
struct lane {
	size_t len, at;
	unsigned char data[BUFFER_SIZE];
};

/* Where the engine's framing is. */
struct framing {
	unsigned char header[HEADER];
	size_t have; /* of the header */
	size_t left; /* of the payload */
};

struct work {
	struct engine_relay *relay;
	struct lane in, out; /* as the engine sends it, still framed; as it goes to the engine */
	struct framing framing;
	bool over;
};

static void keep_words(struct engine_relay *relay, const unsigned char *data, size_t len)
{
	size_t have = strlen(relay->words), room = sizeof(relay->words) - 1 - have;

	len = len < room ? len : room;
	memcpy(relay->words + have, data, len);
	relay->words[have + len] = '\0';
}

/* ---- from the engine to the session ---- */

static void take_header(struct framing *f, struct lane *in)
{
	while (f->have < HEADER && in->at < in->len)
		f->header[f->have++] = in->data[in->at++];
	if (f->have == HEADER)
		f->left = (size_t)f->header[4] << 24 | (size_t)f->header[5] << 16 |
			  (size_t)f->header[6] << 8 | f->header[7];
}

/* What moved, or -errno. */
static ssize_t pass_payload(struct work *w, size_t len)
{
	const unsigned char *at = w->in.data + w->in.at;
	ssize_t n = (ssize_t)len;

	if (w->framing.header[0] == STREAM_ERR)
		keep_words(w->relay, at, len);
	else
		n = send(w->relay->fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	return n < 0 ? -errno : n;
}

static void deliver(struct work *w)
{
	struct framing *f = &w->framing;

	while (w->in.at < w->in.len) {
		size_t len = w->in.len - w->in.at;
		ssize_t n;

		if (f->left == 0) {
			take_header(f, &w->in);
			if (f->have == HEADER && f->left == 0)
				f->have = 0;
			continue;
		}
		n = pass_payload(w, len < f->left ? len : f->left);
		if (n == -EAGAIN)
			return;
		w->over |= n < 0;
		if (n < 0)
			return;
		w->in.at += (size_t)n;
		f->left -= (size_t)n;
		f->have = f->left == 0 ? 0 : f->have;
	}
	w->in.len = w->in.at = 0;
}

/* Until there is no more: what was read ahead below TLS makes no descriptor ready. */
static void receive(struct work *w)
{
	while (w->in.len == 0 && !w->over) {
		ssize_t n = engine_stream_read(w->relay->stream, w->in.data, sizeof(w->in.data));

		if (n == -EAGAIN)
			return;
		w->over = n <= 0;
		if (n <= 0)
			return;
		w->in.len = (size_t)n;
		deliver(w);
	}
}

/* ---- from the session to the engine ---- */

static void forward(struct work *w)
{
	while (w->out.at < w->out.len) {
		ssize_t n = engine_stream_write(w->relay->stream, w->out.data + w->out.at,
						w->out.len - w->out.at);

		if (n == -EAGAIN)
			return;
		w->over |= n <= 0;
		if (n <= 0)
			return;
		w->out.at += (size_t)n;
	}
	w->out.len = w->out.at = 0;
}

static void collect(struct work *w)
{
	ssize_t n = recv(w->relay->fd, w->out.data, sizeof(w->out.data), MSG_DONTWAIT);

	w->over |= n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
	if (n <= 0)
		return;
	w->out.len = (size_t)n;
	forward(w);
}

/* ---- both ---- */

static void turn(struct work *w)
{
	bool in_waits = w->in.len > 0, out_waits = w->out.len > 0;
	struct pollfd fds[2] = {
		{.fd = engine_stream_fd(w->relay->stream),
		 .events = (short)((in_waits ? 0 : POLLIN) | (out_waits ? POLLOUT : 0))},
		{.fd = w->relay->fd,
		 .events = (short)((out_waits ? 0 : POLLIN) | (in_waits ? POLLOUT : 0))},
	};

	if (poll(fds, 2, -1) < 0) {
		w->over = errno != EINTR;
		return;
	}
	if (in_waits)
		deliver(w);
	else if (fds[0].revents & ~POLLOUT)
		receive(w);
	if (out_waits)
		forward(w);
	else if (fds[1].revents & ~POLLOUT)
		collect(w);
	/* An end that is gone while bytes for it wait takes them no more. */
	w->over |= (fds[1].revents & (POLLERR | POLLNVAL)) != 0;
	w->over |= (in_waits && fds[1].revents & POLLHUP) || (out_waits && fds[0].revents & POLLERR);
}

void engine_relay_run(struct engine_relay *relay)
{
	struct work *w = calloc(1, sizeof(*w));

	if (w != NULL) {
		w->relay = relay;
		receive(w);
		while (!w->over)
			turn(w);
	}
	free(w);
	shutdown(relay->fd, SHUT_RDWR);
	engine_stream_close(relay->stream);
	relay->stream = NULL;
}
