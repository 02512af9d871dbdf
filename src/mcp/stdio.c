/* SPDX-License-Identifier: MIT */
/*
 * MCP over stdin and stdout: one message a line, for one client, until stdin ends.
 *
 * A client that does not read its answers must not make us wait where pings and cancels come
 * in, so what stdout does not take is kept, up to a limit after which it counts as gone.
 */
#include "mcp/transport.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_BYTES (32u << 20)
#define KEPT_MAX_BYTES (256u << 20)
#define READ_BYTES     (256u << 10)

struct stdio {
	struct mcp_server *server;
	struct event_base *loop;
	struct mcp_session *session;
	struct mcp_stream unsolicited;
	struct sbx_buf in;    /* a line that has no end yet */
	size_t searched;      /* of it, without an end */
	bool skipping;	      /* the line is too long: the rest of it is dropped */
	struct sbx_buf out;
	size_t written;	      /* of out */
	struct event *readable, *writable, *sigterm, *sigint;
	struct event *gone;   /* stdout has no reader any more; watched after the end of stdin */
	LIST_HEAD(, line_stream) streams; /* of requests that are under way */
	bool ended;	      /* stdin */
	bool broken;	      /* stdout */
};

/* The stream of one message. */
struct line_stream {
	struct mcp_stream stream;
	struct stdio *stdio;
	LIST_ENTRY(line_stream) link;
};

/* ---- out ---- */

static void stop_when_done(struct stdio *s)
{
	bool written = s->written == s->out.len || s->broken;

	if (s->broken || (s->ended && written && mcp_server_busy(s->server) == 0))
		event_base_loopbreak(s->loop);
}

/* A cancelled call ends without a word that would be written. */
static void on_idle(void *userdata)
{
	stop_when_done(userdata);
}

static void write_out(struct stdio *s)
{
	while (s->written < s->out.len && !s->broken) {
		ssize_t n = write(STDOUT_FILENO, s->out.data + s->written, s->out.len - s->written);

		if (n > 0)
			s->written += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			break;
		else if (n < 0 && errno != EINTR)
			s->broken = true;
	}
	if (s->written == s->out.len) {
		sbx_buf_done(&s->out);
		s->out = (struct sbx_buf)SBX_BUF_INIT(KEPT_MAX_BYTES);
		s->written = 0;
		event_del(s->writable);
	} else {
		event_add(s->writable, NULL);
	}
	stop_when_done(s);
}

static void on_writable(evutil_socket_t fd, short events, void *userdata)
{
	(void)fd;
	(void)events;
	write_out(userdata);
}

static void put_line(struct stdio *s, const json_t *message)
{
	char *text = mcp_format(message);

	if (text != NULL) {
		sbx_buf_puts(&s->out, text);
		sbx_buf_append(&s->out, "\n", 1);
	}
	free(text);
	if (text == NULL || s->out.failed)
		s->broken = true;
	write_out(s);
}

static void line_send(struct mcp_stream *stream, const json_t *message)
{
	put_line(((struct line_stream *)stream)->stdio, message);
}

static void free_stream(struct line_stream *stream)
{
	LIST_REMOVE(stream, link);
	free(stream);
}

static void line_finish(struct mcp_stream *stream, const json_t *response, int status)
{
	struct stdio *s = ((struct line_stream *)stream)->stdio;

	(void)status;
	free_stream((struct line_stream *)stream);
	if (response != NULL)
		put_line(s, response);
	else
		stop_when_done(s);
}

static void unsolicited_send(struct mcp_stream *stream, const json_t *message)
{
	put_line((struct stdio *)((char *)stream - offsetof(struct stdio, unsolicited)), message);
}

/* ---- in ---- */

static struct mcp_stream *new_stream(struct stdio *s)
{
	struct line_stream *stream = calloc(1, sizeof(*stream));

	if (stream == NULL)
		return NULL;
	stream->stream = (struct mcp_stream){.send = line_send, .finish = line_finish};
	stream->stdio = s;
	LIST_INSERT_HEAD(&s->streams, stream, link);
	return &stream->stream;
}

static void take_line(struct stdio *s, const char *text, size_t len)
{
	struct mcp_stream *stream;
	char why[256];
	json_t *message;

	if (len > 0 && text[len - 1] == '\r')
		len--;
	if (len == 0)
		return;
	stream = new_stream(s);
	if (stream == NULL)
		return;
	message = mcp_parse(text, len, why, sizeof(why));
	if (message == NULL)
		mcp_session_refuse(s->session, MCP_PARSE_ERROR, why, stream);
	else
		mcp_session_receive(s->session, message, stream);
	json_decref(message);
}

static void refuse_long_line(struct stdio *s)
{
	struct mcp_stream *stream = new_stream(s);

	s->skipping = true;
	sbx_buf_done(&s->in);
	s->in = (struct sbx_buf)SBX_BUF_INIT(LINE_MAX_BYTES);
	s->searched = 0;
	if (stream != NULL)
		mcp_session_refuse(s->session, MCP_INVALID_REQUEST, "a message is larger than 32 MiB",
				   stream);
}

/* Act on the lines that are whole. */
static void take_lines(struct stdio *s)
{
	size_t at = 0;
	char *end;

	while (s->searched < s->in.len &&
	       (end = memchr(s->in.data + s->searched, '\n', s->in.len - s->searched)) != NULL) {
		size_t len = (size_t)(end - (s->in.data + at));

		if (!s->skipping)
			take_line(s, s->in.data + at, len);
		s->skipping = false;
		at += len + 1;
		s->searched = at;
	}
	if (at > 0)
		sbx_buf_consume(&s->in, at);
	s->searched = s->in.len;
	if (s->skipping || s->in.len + READ_BYTES > LINE_MAX_BYTES) {
		if (!s->skipping)
			refuse_long_line(s);
		sbx_buf_consume(&s->in, s->in.len);
		s->searched = 0;
	}
}

static void on_gone(evutil_socket_t fd, short events, void *userdata)
{
	struct pollfd pollfd = {.fd = fd};
	struct stdio *s = userdata;

	(void)events;
	if (poll(&pollfd, 1, 0) > 0 && (pollfd.revents & (POLLERR | POLLHUP)) != 0) {
		s->broken = true;
		stop_when_done(s);
	}
}

/*
 * Nothing more will be asked. Who still reads, as a script does that wrote all its requests at
 * once, gets the answers; for who is gone everything ends now. A pipe without a reader polls as
 * readable.
 */
static void end_input(struct stdio *s)
{
	struct stat st;

	s->ended = true;
	event_del(s->readable);
	if (fstat(STDOUT_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		event_add(s->gone, NULL);
	if (s->in.len > 0 && !s->skipping)
		take_line(s, s->in.data, s->in.len);
	mcp_server_end_listens(s->server);
	mcp_ask_give_up(s->session);
	stop_when_done(s);
}

static void on_readable(evutil_socket_t fd, short events, void *userdata)
{
	struct stdio *s = userdata;
	char *to = sbx_buf_reserve(&s->in, READ_BYTES);
	ssize_t n;

	(void)events;
	if (to == NULL) {
		s->broken = true;
		stop_when_done(s);
		return;
	}
	n = read(fd, to, READ_BYTES);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_input(s);
		return;
	}
	s->in.len += (size_t)n;
	take_lines(s);
}

/* ---- the whole ---- */

static void on_signal(evutil_socket_t signo, short events, void *userdata)
{
	struct stdio *s = userdata;

	(void)signo;
	(void)events;
	event_base_loopbreak(s->loop);
}

static int set_up(struct stdio *s, struct sbx_error *err)
{
	s->session = mcp_session_new(s->server, MCP_SESSION_STDIO);
	s->readable = event_new(s->loop, STDIN_FILENO, EV_READ | EV_PERSIST, on_readable, s);
	s->writable = event_new(s->loop, STDOUT_FILENO, EV_WRITE | EV_PERSIST, on_writable, s);
	s->gone = event_new(s->loop, STDOUT_FILENO, EV_READ | EV_PERSIST, on_gone, s);
	s->sigterm = evsignal_new(s->loop, SIGTERM, on_signal, s);
	s->sigint = evsignal_new(s->loop, SIGINT, on_signal, s);
	if (s->session == NULL || s->readable == NULL || s->writable == NULL || s->gone == NULL || s->sigterm == NULL ||
	    s->sigint == NULL || event_add(s->readable, NULL) < 0 ||
	    event_add(s->sigterm, NULL) < 0 || event_add(s->sigint, NULL) < 0)
		return sbx_fail_errno(err, ENOMEM, "cannot serve stdin and stdout");
	mcp_session_set_unsolicited(s->session, &s->unsolicited);
	mcp_server_on_idle(s->server, on_idle, s);
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

static void free_event(struct event *event)
{
	if (event != NULL)
		event_free(event);
}

static void tear_down(struct stdio *s)
{
	mcp_server_on_idle(s->server, NULL, NULL);
	if (s->session != NULL)
		mcp_session_set_unsolicited(s->session, NULL);
	mcp_session_free(s->session);
	while (!LIST_EMPTY(&s->streams))
		free_stream(LIST_FIRST(&s->streams));
	free_event(s->readable);
	free_event(s->writable);
	free_event(s->gone);
	free_event(s->sigterm);
	free_event(s->sigint);
	sbx_buf_done(&s->in);
	sbx_buf_done(&s->out);
}

int mcp_serve_stdio(struct mcp_server *server, struct sbx_error *err)
{
	struct stdio s = {
		.server = server,
		.loop = mcp_server_loop(server),
		.unsolicited = {.send = unsolicited_send},
		.in = SBX_BUF_INIT(LINE_MAX_BYTES),
		.out = SBX_BUF_INIT(KEPT_MAX_BYTES),
	};
	int flags = fcntl(STDOUT_FILENO, F_GETFL);
	int r = set_up(&s, err);

	if (r == 0) {
		fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK);
		event_base_dispatch(s.loop);
		fcntl(STDOUT_FILENO, F_SETFL, flags);
	}
	tear_down(&s);
	return r;
}
