/* SPDX-License-Identifier: MIT */
/*
 * The Streamable HTTP transport: checks the options, listens, serves, drains, ends.
 *
 * A connection (http_conn.c) reads requests and hands them to the endpoint (http_endpoint.c),
 * which gives the message to the core with a stream (http_stream.c) for the answers. In the
 * older era streams belong to sessions (http_session.c).
 */
#include "base/clock.h"
#include "mcp/http_conn.h"
#include "mcp/http_session.h"
#include "mcp/http_tls.h"

#include <errno.h>
#include <event2/listener.h>
#include <signal.h>
#include <string.h>

#define DRAIN_TICK_MS	20u
#define ACCEPT_AGAIN_MS 100u
#define FAREWELL_MS	1000u /* for the last answers to be written */

const struct http_times http_default_times = {
	.head_ms = 10000,
	.body_ms = 120000,
	.idle_ms = 75000,
	.write_ms = 30000,
	.linger_ms = 2000,
	.stream_ms = 5000,
	.alive_ms = 15000,
	.session_ms = 30 * 60 * 1000,
	.replay_ms = 5 * 60 * 1000,
	.retry_ms = 1000,
};

/* ---- the end ---- */

/* Answers that wait are written, and connections end as their clients take them. */
static void leave(struct http_server *server)
{
	struct http_session *session;
	struct http_stream *stream;

	server->leaving = true;
	server->drain_deadline_ns = sbx_deadline_ns(FAREWELL_MS);
	while ((session = TAILQ_FIRST(&server->sessions)) != NULL)
		http_session_free(session);
	while ((stream = TAILQ_FIRST(&server->fresh)) != NULL) {
		mcp_session_free(stream->own);
		http_stream_free(stream);
	}
}

static bool is_quiet(const struct http_server *server)
{
	return server->leaving ? server->conn_count == 0 : mcp_server_busy(server->mcp) == 0;
}

static void on_drain_tick(evutil_socket_t fd, short what, void *arg)
{
	struct http_server *server = arg;

	(void)fd;
	(void)what;
	if (!is_quiet(server) && sbx_now_ns() < server->drain_deadline_ns)
		return;
	if (server->leaving)
		event_base_loopbreak(server->base);
	else
		leave(server);
}

static void close_idle_conns(struct http_server *server)
{
	struct http_conn *conn = TAILQ_FIRST(&server->conns), *next;

	for (; conn != NULL; conn = next) {
		next = TAILQ_NEXT(conn, link);
		http_conn_close_idle(conn);
	}
}

static void start_drain(struct http_server *server)
{
	struct timeval tick = http_timeval(DRAIN_TICK_MS);

	server->draining = true;
	server->drain_deadline_ns = sbx_deadline_ns(server->drain_ms);
	evconnlistener_free(server->listener);
	server->listener = NULL;
	http_address_leave(&server->address);
	close_idle_conns(server);
	mcp_server_end_listens(server->mcp);
	event_add(server->drain_timer, &tick);
}

/* The second signal means now. */
static void on_signal(evutil_socket_t fd, short what, void *arg)
{
	struct http_server *server = arg;

	(void)fd;
	(void)what;
	if (!server->draining)
		start_drain(server);
	else
		server->drain_deadline_ns = sbx_now_ns();
}

/* ---- while it serves ---- */

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer,
		      int len, void *arg)
{
	(void)listener;
	(void)peer;
	(void)len;
	http_conn_open(arg, fd);
}

/* Without descriptors accept() fails again and again: wait until some are closed. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
	struct http_server *server = arg;
	struct timeval tv = http_timeval(ACCEPT_AGAIN_MS);

	evconnlistener_disable(listener);
	event_add(server->accept_again, &tv);
}

static void on_accept_again(evutil_socket_t fd, short what, void *arg)
{
	struct http_server *server = arg;

	(void)fd;
	(void)what;
	if (server->listener != NULL)
		evconnlistener_enable(server->listener);
}

static void on_housekeeping(evutil_socket_t fd, short what, void *arg)
{
	struct http_server *server = arg;

	(void)fd;
	(void)what;
	http_stream_expire(server);
	http_session_expire(server);
}

static void on_reap(evutil_socket_t fd, short what, void *arg)
{
	struct http_server *server = arg;

	(void)fd;
	(void)what;
	http_stream_reap(server);
	http_session_reap(server);
	http_stream_expire(server);
}

/* ---- the beginning ---- */

static int check_options(const struct http_server *server, struct sbx_error *err)
{
	const struct mcp_http_options *options = server->options;

	if ((options->tls_cert_file == NULL) != (options->tls_key_file == NULL))
		return sbx_fail(err, SBX_E_INVALID, "TLS needs both a certificate and its key");
	if (options->tls_cert_file != NULL && server->address.is_unix)
		return sbx_fail(err, SBX_E_INVALID, "a Unix socket has no TLS: leave it out");
	if (server->path[0] != '/')
		return sbx_fail(err, SBX_E_INVALID, "the path '%s' must begin with a slash",
				server->path);
	if (options->token != NULL && *options->token == '\0')
		return sbx_fail(err, SBX_E_INVALID, "the bearer token is empty");
	if (options->token == NULL && !server->address.is_loopback)
		return sbx_fail(err, SBX_E_DENIED,
				"other machines can reach '%s': set a bearer token, or listen on "
				"127.0.0.1 or a Unix socket",
				options->address);
	return 0;
}

static int read_options(struct http_server *server, struct sbx_error *err)
{
	const struct mcp_http_options *options = server->options;
	int r = http_address_parse(options->address, &server->address, err);

	if (r < 0)
		return r;
	server->path = options->path ? options->path : "/mcp";
	server->body_max = options->body_max ? options->body_max : HTTP_BODY_MAX;
	server->connections_max =
		options->connections_max ? options->connections_max : HTTP_CONNECTIONS_MAX;
	server->drain_ms = options->drain_ms ? options->drain_ms : HTTP_DRAIN_MS;
	r = check_options(server, err);
	if (r == 0 && options->tls_cert_file != NULL)
		r = http_tls_new(options->tls_cert_file, options->tls_key_file, &server->tls, err);
	return r;
}

static unsigned int housekeeping_ms(const struct http_times *times)
{
	unsigned int least =
		times->session_ms < times->replay_ms ? times->session_ms : times->replay_ms;

	return least / 4 < 30000 ? least / 4 + 1 : 30000;
}

static int make_events(struct http_server *server, struct sbx_error *err)
{
	struct event_base *base = server->base;
	struct timeval tv = http_timeval(housekeeping_ms(&server->times));

	server->signals[0] = evsignal_new(base, SIGTERM, on_signal, server);
	server->signals[1] = evsignal_new(base, SIGINT, on_signal, server);
	server->housekeeper = event_new(base, -1, EV_PERSIST, on_housekeeping, server);
	server->accept_again = event_new(base, -1, 0, on_accept_again, server);
	server->drain_timer = event_new(base, -1, EV_PERSIST, on_drain_tick, server);
	server->reaper = event_new(base, -1, 0, on_reap, server);
	if (server->signals[0] == NULL || server->signals[1] == NULL ||
	    server->housekeeper == NULL || server->accept_again == NULL ||
	    server->drain_timer == NULL || server->reaper == NULL ||
	    event_add(server->signals[0], NULL) < 0 || event_add(server->signals[1], NULL) < 0 ||
	    event_add(server->housekeeper, &tv) < 0)
		return sbx_fail_errno(err, ENOMEM, "cannot set the server up");
	return 0;
}

static int start_listening(struct http_server *server, struct sbx_error *err)
{
	int fd, r = http_address_listen(&server->address, &fd, err);

	if (r < 0)
		return r;
	server->listener = evconnlistener_new(server->base, on_accept, server,
					      LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (server->listener == NULL) {
		close(fd);
		http_address_leave(&server->address);
		return sbx_fail_errno(err, ENOMEM, "cannot set the server up");
	}
	evconnlistener_set_error_cb(server->listener, on_accept_error);
	return 0;
}

static void announce(const struct http_server *server)
{
	const struct mcp_http_options *options = server->options;
	char url[512];

	if (options->on_listen == NULL)
		return;
	http_address_format(&server->address, server->tls != NULL, server->path, url, sizeof(url));
	options->on_listen(url, options->userdata);
}

static void free_events(struct http_server *server)
{
	struct event *events[] = {
		server->signals[0],   server->signals[1],  server->housekeeper,
		server->accept_again, server->drain_timer, server->reaper,
	};

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (events[i] != NULL)
			event_free(events[i]);
	}
}

static void done(struct http_server *server)
{
	struct http_conn *conn;

	if (server->listener != NULL) {
		evconnlistener_free(server->listener);
		http_address_leave(&server->address);
	}
	leave(server);
	http_stream_reap(server);
	http_session_reap(server);
	while ((conn = TAILQ_FIRST(&server->conns)) != NULL)
		http_conn_close(conn);
	free_events(server);
	SSL_CTX_free(server->tls);
}

static int serve(struct http_server *server, struct sbx_error *err)
{
	int r = read_options(server, err);

	if (r == 0)
		r = make_events(server, err);
	if (r == 0)
		r = start_listening(server, err);
	if (r < 0)
		return r;
	announce(server);
	if (event_base_dispatch(server->base) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, "the event loop failed");
	return 0;
}

int http_serve(struct mcp_server *mcp, const struct mcp_http_options *options,
	       const struct http_times *times, struct sbx_error *err)
{
	struct http_server server = {
		.mcp = mcp,
		.options = options,
		.times = *times,
		.base = mcp_server_loop(mcp),
	};
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	int r;

	TAILQ_INIT(&server.conns);
	TAILQ_INIT(&server.sessions);
	TAILQ_INIT(&server.ended);
	TAILQ_INIT(&server.fresh);
	TAILQ_INIT(&server.dead_streams);
	TAILQ_INIT(&server.dead_sessions);
	/* libevent writes to sockets without MSG_NOSIGNAL. */
	sigaction(SIGPIPE, &ignore, &before);
	r = serve(&server, err);
	done(&server);
	sigaction(SIGPIPE, &before, NULL);
	return r;
}

int mcp_serve_http(struct mcp_server *server, const struct mcp_http_options *options,
		   struct sbx_error *err)
{
	struct sbx_error lent;

	return http_serve(server, options, &http_default_times, err ? err : &lent);
}
