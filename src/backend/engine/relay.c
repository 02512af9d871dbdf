/* SPDX-License-Identifier: MIT */
#include "backend/engine/relay.h"

#include "backend/engine/unframe.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BUFFER_SIZE (256u << 10)

/* What waits in one direction. */
struct lane {
	size_t len, at;
	unsigned char data[BUFFER_SIZE];
};

struct work {
	struct engine_relay *relay;
	struct lane in, out; /* as the engine sends it, still framed; as it goes to the engine */
	struct engine_unframe framing;
	bool no_more_out; /* nothing goes to the engine any more; it may still have something to say */
	bool over;
};

static void keep_words(struct engine_relay *relay, const void *data, size_t len)
{
	size_t room = sizeof(relay->words) - relay->words_len;

	len = len < room ? len : room;
	memcpy(relay->words + relay->words_len, data, len);
	relay->words_len += len;
}

const char *engine_relay_words(const struct engine_relay *relay, char ret[ENGINE_WORDS_MAX])
{
	engine_words_clean(relay->words, relay->words_len, ret, ENGINE_WORDS_MAX);
	if (ret[0] == '\0' && relay->malformed)
		snprintf(ret, ENGINE_WORDS_MAX, "the engine's stream is not framed as it should be");
	return ret;
}

/* ---- from the engine to the session ---- */

/* What moved, or -errno. */
static ssize_t pass(struct work *w, const struct engine_piece *piece)
{
	const unsigned char *at = w->in.data + w->in.at;
	ssize_t n = (ssize_t)piece->len;

	w->relay->heard |= piece->kind == ENGINE_PIECE_OUT;
	if (piece->kind == ENGINE_PIECE_WORDS)
		keep_words(w->relay, at, piece->len);
	else
		n = send(w->relay->fd, at, piece->len, MSG_NOSIGNAL | MSG_DONTWAIT);
	return n < 0 ? -errno : n;
}

static void deliver(struct work *w)
{
	while (w->in.at < w->in.len) {
		struct engine_piece piece = engine_unframe_next(
			&w->framing, w->in.data + w->in.at, w->in.len - w->in.at);
		ssize_t n;

		w->in.at += piece.skip;
		w->relay->malformed = piece.kind == ENGINE_PIECE_BAD;
		w->over |= w->relay->malformed;
		if (w->over)
			return;
		if (piece.len == 0)
			continue;
		n = pass(w, &piece);
		if (n == -EAGAIN || n == -EINTR)
			return;
		w->over |= n < 0;
		if (n < 0)
			return;
		w->in.at += (size_t)n;
		engine_unframe_took(&w->framing, (size_t)n);
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

/* The engine takes nothing more; what it has said already is still to be read. */
static void stop_out(struct work *w)
{
	w->no_more_out = true;
	w->out.len = w->out.at = 0;
}

static void forward(struct work *w)
{
	while (w->out.at < w->out.len) {
		ssize_t n = engine_stream_write(w->relay->stream, w->out.data + w->out.at,
						w->out.len - w->out.at);

		if (n == -EAGAIN)
			return;
		if (n <= 0)
			return stop_out(w);
		w->out.at += (size_t)n;
	}
	w->out.len = w->out.at = 0;
}

static void collect(struct work *w, bool hung_up)
{
	ssize_t n = recv(w->relay->fd, w->out.data, sizeof(w->out.data), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		w->over |= n < 0 || hung_up;
		engine_stream_shutdown(w->relay->stream);
		return stop_out(w);
	}
	w->out.len = (size_t)n;
	forward(w);
}

/* ---- both ---- */

/* What to wait for, or no descriptor: poll(2) reports a hang-up that nobody asked for, for ever. */
static struct pollfd wait_on(int fd, bool in, bool out)
{
	return (struct pollfd){.fd = in || out ? fd : -1,
			       .events = (short)((in ? POLLIN : 0) | (out ? POLLOUT : 0))};
}

/* Whether what the session says goes to the engine. */
static bool listens(const struct work *w)
{
	return !w->no_more_out && w->out.len == 0 && (w->relay->heard || !w->relay->hold);
}

static void turn(struct work *w)
{
	bool in_waits = w->in.len > 0, out_waits = w->out.len > 0, listened = listens(w);
	struct pollfd fds[2] = {
		wait_on(engine_stream_fd(w->relay->stream), !in_waits, out_waits),
		wait_on(w->relay->fd, listened, in_waits),
	};

	/* Both ways of the session's end may close while nothing else is expected of it. */
	fds[1].fd = w->relay->fd;
	if (poll(fds, 2, -1) < 0) {
		w->over = errno != EINTR;
		return;
	}
	if (in_waits && (fds[1].revents & ~POLLIN))
		deliver(w);
	if (w->in.len == 0 && (in_waits || (fds[0].revents & ~POLLOUT)))
		receive(w);
	if (out_waits && fds[0].revents)
		forward(w);
	else if (listened && (fds[1].revents & ~POLLOUT))
		collect(w, fds[1].revents & POLLHUP);
	/* An end that is gone while bytes for it wait, or none are expected, is the end. */
	w->over |= (fds[1].revents & (POLLERR | POLLNVAL)) != 0;
	w->over |= (fds[1].revents & POLLHUP) && (!listened || in_waits);
}

void engine_relay_run(struct engine_relay *relay)
{
	struct work *w = calloc(1, sizeof(*w));

	if (w != NULL) {
		w->relay = relay;
		w->framing.raw = relay->raw && !engine_stream_is_framed(relay->stream);
		receive(w);
		while (!w->over)
			turn(w);
	}
	free(w);
	engine_stream_hang_up(relay->stream);
}
