/* SPDX-License-Identifier: MIT */
#include "mcp/http_conn.h"

#include "mcp/http_answer.h"
#include "mcp/http_endpoint.h"
#include "mcp/http_tls.h"

#include <event2/buffer.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIELDS_MAX    (8u << 10)
#define PIPELINE_MAX  (32u << 10) /* what may wait behind a request that is under way */
#define ANSWERS_MAX   (256u << 10) /* that wait to be read when the next request is begun */
#define BACKLOG_MAX   (8u << 20)  /* what a client has not read yet when more is to be said */
#define REFUSABLE_MAX 64u	  /* connections above the maximum that are told so */

/* ---- small parts ---- */

static void set_timer(struct http_conn *conn, unsigned int ms)
{
	struct timeval tv = http_timeval(ms);

	event_add(conn->timer, &tv);
}

static size_t waiting_input(const struct http_conn *conn)
{
	return evbuffer_get_length(bufferevent_get_input(conn->bev));
}

static size_t waiting_output(const struct http_conn *conn)
{
	return evbuffer_get_length(bufferevent_get_output(conn->bev));
}

static void count_body(struct http_conn *conn, size_t bytes)
{
	conn->server->body_bytes += bytes - conn->body_bytes;
	conn->body_bytes = bytes;
}

static void forget_request(struct http_conn *conn)
{
	count_body(conn, 0);
	http_body_done(&conn->body);
	free(conn->head);
	free(conn->head_text);
	conn->head = NULL;
	conn->head_text = NULL;
	conn->gone = NULL;
	conn->scanned = 0;
}

void http_conn_close(struct http_conn *conn)
{
	void (*gone)(void *arg) = conn->gone;

	conn->gone = NULL;
	if (gone != NULL)
		gone(conn->gone_arg);
	forget_request(conn);
	TAILQ_REMOVE(&conn->server->conns, conn, link);
	conn->server->conn_count--;
	if (conn->timer != NULL)
		event_free(conn->timer);
	if (conn->bev != NULL)
		bufferevent_free(conn->bev);
	sbx_buf_done(&conn->fields);
	free(conn);
}

void http_conn_doom(struct http_conn *conn)
{
	conn->state = HTTP_DOOMED;
	set_timer(conn, 0);
}

void http_conn_close_idle(struct http_conn *conn)
{
	if (conn->state == HTTP_READING_HEAD)
		http_conn_close(conn);
}

void http_conn_set_gone(struct http_conn *conn, void (*gone)(void *arg), void *arg)
{
	conn->gone = gone;
	conn->gone_arg = arg;
}

/* ---- the end of an answer ---- */

/*
 * We stop writing first and go on reading for a while: closing a socket with unread input makes
 * the kernel reset the connection, and the client would lose the answer.
 */
static void shut(struct http_conn *conn)
{
	if (conn->shut || waiting_output(conn) > 0)
		return;
	conn->shut = true;
	if (conn->heard_all) {
		http_conn_doom(conn);
		return;
	}
	if (conn->server->tls != NULL)
		http_tls_shut(conn->bev);
	shutdown(bufferevent_getfd(conn->bev), SHUT_WR);
}

static void leave(struct http_conn *conn)
{
	conn->state = HTTP_LEAVING;
	set_timer(conn, conn->server->times.linger_ms);
	bufferevent_trigger(conn->bev, EV_WRITE,
			    BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

static void await_request(struct http_conn *conn)
{
	conn->state = HTTP_READING_HEAD;
	set_timer(conn, conn->server->times.idle_ms);
	/* What is there already would not be announced a second time. */
	if (waiting_input(conn) > 0)
		bufferevent_trigger(conn->bev, EV_READ,
				    BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

static void finish_answer(struct http_conn *conn)
{
	forget_request(conn);
	if (conn->keep_alive && !conn->server->draining)
		await_request(conn);
	else
		leave(conn);
}

/* ---- answers ---- */

/* Without having read the body we cannot find the next request behind it. */
static bool has_unread_body(const struct http_conn *conn)
{
	return conn->state == HTTP_READING_BODY ||
	       (conn->state == HTTP_READING_HEAD &&
		(conn->head == NULL || conn->head->chunked || conn->head->length > 0));
}

static void put_head(struct http_conn *conn, int status, const char *type)
{
	struct evbuffer *out = bufferevent_get_output(conn->bev);
	char date[64];
	time_t now = time(NULL);
	struct tm tm;

	conn->keep_alive = conn->keep_alive && !conn->server->draining && !has_unread_body(conn);
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm));
	evbuffer_add_printf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", status, http_status_text(status),
			    date);
	if (conn->fields.len > 0 && !conn->fields.failed)
		evbuffer_add(out, conn->fields.data, conn->fields.len);
	sbx_buf_done(&conn->fields);
	conn->fields = (struct sbx_buf)SBX_BUF_INIT(FIELDS_MAX);
	if (type != NULL)
		evbuffer_add_printf(out, "Content-Type: %s\r\n", type);
	if (!conn->keep_alive)
		evbuffer_add_printf(out, "Connection: close\r\n");
}

void http_conn_add_field(struct http_conn *conn, const char *name, const char *value)
{
	sbx_buf_printf(&conn->fields, "%s: %s\r\n", name, value);
}

void http_conn_reply(struct http_conn *conn, int status, const char *type, const void *body,
		     size_t len)
{
	struct evbuffer *out = bufferevent_get_output(conn->bev);

	if (conn->state == HTTP_DOOMED || conn->state == HTTP_LEAVING)
		return;
	put_head(conn, status, type);
	/* 204 has no body, and a length would be wrong in it (RFC 9110 8.6). */
	if (status == 204)
		evbuffer_add_printf(out, "\r\n");
	else
		evbuffer_add_printf(out, "Content-Length: %zu\r\n\r\n", len);
	if (len > 0)
		evbuffer_add(out, body, len);
	finish_answer(conn);
}

void http_conn_start(struct http_conn *conn, int status, const char *type)
{
	struct evbuffer *out = bufferevent_get_output(conn->bev);

	if (conn->state == HTTP_DOOMED || conn->state == HTTP_LEAVING)
		return;
	/* HTTP/1.0 has no chunks: the end of the connection is the end of the answer. */
	conn->chunked = conn->head != NULL && conn->head->minor >= 1;
	conn->keep_alive = conn->keep_alive && conn->chunked;
	put_head(conn, status, type);
	evbuffer_add_printf(out, conn->chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
	conn->state = HTTP_STARTED;
	event_del(conn->timer);
}

void http_conn_write(struct http_conn *conn, const void *data, size_t len)
{
	struct evbuffer *out = bufferevent_get_output(conn->bev);

	if (conn->state != HTTP_STARTED || len == 0)
		return;
	if (waiting_output(conn) > BACKLOG_MAX) {
		http_conn_doom(conn);
		return;
	}
	if (conn->chunked)
		evbuffer_add_printf(out, "%zx\r\n", len);
	evbuffer_add(out, data, len);
	if (conn->chunked)
		evbuffer_add(out, "\r\n", 2);
}

void http_conn_end(struct http_conn *conn)
{
	if (conn->state != HTTP_STARTED)
		return;
	if (conn->chunked)
		evbuffer_add(bufferevent_get_output(conn->bev), "0\r\n\r\n", 5);
	finish_answer(conn);
}

/* ---- requests ---- */

static void refuse(struct http_conn *conn, int status, const char *why)
{
	conn->keep_alive = false;
	http_answer_refuse(conn, status, why);
}

static const char *why_status(int status)
{
	switch (status) {
	case 408:
		return "the request took too long to arrive";
	case 413:
		return "the body is larger than this server takes";
	case 431:
		return "the header fields are larger than 32 KiB, or more than 100";
	case 501:
		return "of the transfer codings this server knows chunked alone";
	case 503:
		return "the server has no room for this request now: try again later";
	case 505:
		return "this server speaks HTTP/1.1";
	default:
		return "this is no well-formed HTTP request";
	}
}

/* Where the head ends, or 0 while it does not. */
static size_t find_head_end(struct http_conn *conn)
{
	struct evbuffer *in = bufferevent_get_input(conn->bev);
	struct evbuffer_ptr from, at;

	/* The end may lie across what was scanned and what is new. */
	evbuffer_ptr_set(in, &from, conn->scanned > 3 ? conn->scanned - 3 : 0, EVBUFFER_PTR_SET);
	at = evbuffer_search(in, "\r\n\r\n", 4, &from);
	conn->scanned = evbuffer_get_length(in);
	return at.pos < 0 ? 0 : (size_t)at.pos + 4;
}

/* Empty lines before a request are ignored (RFC 9112 2.2). */
static void skip_empty_lines(struct evbuffer *in)
{
	char start[2];

	while (evbuffer_copyout(in, start, 2) == 2 && start[0] == '\r' && start[1] == '\n')
		evbuffer_drain(in, 2);
}

static int take_head(struct http_conn *conn, size_t len)
{
	conn->head_text = malloc(len + 1);
	conn->head = calloc(1, sizeof(*conn->head));
	if (conn->head_text == NULL || conn->head == NULL)
		return 503;
	evbuffer_remove(bufferevent_get_input(conn->bev), conn->head_text, len);
	conn->head_text[len] = '\0';
	return http_head_parse(conn->head_text, len, conn->head);
}

static void start_body(struct http_conn *conn)
{
	struct http_server *server = conn->server;
	int r = http_body_init(&conn->body, conn->head, server->body_max);

	conn->state = HTTP_READING_BODY;
	if (r < 0) {
		refuse(conn, -r, why_status(-r));
		return;
	}
	set_timer(conn, server->times.body_ms);
	if (conn->head->expects_continue && (conn->head->chunked || conn->head->length > 0))
		evbuffer_add_printf(bufferevent_get_output(conn->bev),
				    "HTTP/1.1 100 Continue\r\n\r\n");
}

/* True when there may be more to do. */
static bool step_head(struct http_conn *conn)
{
	size_t end;
	int status;

	/* Who asks and never reads must not fill our memory with answers. */
	if (waiting_output(conn) > ANSWERS_MAX) {
		bufferevent_disable(conn->bev, EV_READ);
		return false;
	}
	if (conn->scanned == 0)
		skip_empty_lines(bufferevent_get_input(conn->bev));
	if (waiting_input(conn) == 0)
		return false;
	/* From the first byte on the client has less time than between requests. */
	if (conn->scanned == 0)
		set_timer(conn, conn->server->times.head_ms);
	end = find_head_end(conn);
	if (end > HTTP_HEAD_MAX || (end == 0 && waiting_input(conn) > HTTP_HEAD_MAX)) {
		refuse(conn, 431, why_status(431));
		return true;
	}
	if (end == 0)
		return false;
	status = take_head(conn, end);
	if (status != 0) {
		refuse(conn, status, why_status(status));
		return true;
	}
	conn->keep_alive = conn->head->keep_alive;
	if (http_endpoint_head(conn))
		start_body(conn);
	return true;
}

static bool step_body(struct http_conn *conn)
{
	struct http_server *server = conn->server;
	int r = http_body_take(&conn->body, bufferevent_get_input(conn->bev));

	count_body(conn, evbuffer_get_length(conn->body.data));
	if (r == 0 && server->body_bytes / HTTP_BODIES_MAX > server->body_max)
		r = -503;
	if (r < 0) {
		refuse(conn, -r, why_status(-r));
		return true;
	}
	if (r == 0)
		return false;
	event_del(conn->timer);
	conn->state = HTTP_BUSY;
	http_endpoint_request(conn);
	return false;
}

static bool step(struct http_conn *conn)
{
	switch (conn->state) {
	case HTTP_READING_HEAD:
		return step_head(conn);
	case HTTP_READING_BODY:
		return step_body(conn);
	case HTTP_BUSY:
	case HTTP_STARTED:
		/* With our input full we would not see the client go. */
		if (waiting_input(conn) > PIPELINE_MAX)
			http_conn_doom(conn);
		return false;
	case HTTP_LEAVING:
		evbuffer_drain(bufferevent_get_input(conn->bev), waiting_input(conn));
		return false;
	case HTTP_DOOMED:
		return false;
	}
	return false;
}

/* ---- what libevent calls ---- */

static void on_read(struct bufferevent *bev, void *arg)
{
	(void)bev;
	while (step(arg))
		;
}

static void on_written(struct bufferevent *bev, void *arg)
{
	struct http_conn *conn = arg;

	if (conn->state == HTTP_LEAVING) {
		shut(conn);
		return;
	}
	/* step_head() may have waited for this. */
	bufferevent_enable(bev, EV_READ);
	on_read(bev, conn);
}

/* Who has sent all requests and shut its end still reads the answers that wait to go out. */
static bool has_answers(const struct http_conn *conn)
{
	return (conn->state == HTTP_READING_HEAD || conn->state == HTTP_LEAVING) &&
	       waiting_output(conn) > 0;
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct http_conn *conn = arg;

	(void)bev;
	if ((what & BEV_EVENT_EOF) && has_answers(conn)) {
		conn->heard_all = true;
		leave(conn);
	} else if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT)) {
		http_conn_close(conn);
	}
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct http_conn *conn = arg;
	bool in_request = conn->state == HTTP_READING_BODY ||
			  (conn->state == HTTP_READING_HEAD && conn->scanned > 0);

	(void)fd;
	(void)what;
	if (in_request)
		refuse(conn, 408, why_status(408));
	else
		http_conn_close(conn);
}

static struct bufferevent *new_bufferevent(struct http_server *server, int fd)
{
	/* Deferred: nothing of ours is called from inside of a call into libevent. */
	int flags = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
	struct bufferevent *bev = server->tls != NULL
					  ? http_tls_accept(server->base, server->tls, fd, flags)
					  : bufferevent_socket_new(server->base, fd, flags);

	if (bev == NULL)
		close(fd);
	return bev;
}

static struct http_conn *new_conn(struct http_server *server, int fd)
{
	struct timeval write_time = http_timeval(server->times.write_ms);
	struct http_conn *conn = calloc(1, sizeof(*conn));
	int on = 1;

	if (conn == NULL) {
		close(fd);
		return NULL;
	}
	if (!server->address.is_unix)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	conn->server = server;
	conn->fields = (struct sbx_buf)SBX_BUF_INIT(FIELDS_MAX);
	TAILQ_INSERT_TAIL(&server->conns, conn, link);
	server->conn_count++;
	conn->timer = event_new(server->base, -1, 0, on_timer, conn);
	conn->bev = new_bufferevent(server, fd);
	if (conn->timer == NULL || conn->bev == NULL) {
		http_conn_close(conn);
		return NULL;
	}
	bufferevent_setcb(conn->bev, on_read, on_written, on_event, conn);
	bufferevent_set_timeouts(conn->bev, NULL, &write_time);
	return conn;
}

void http_conn_open(struct http_server *server, int fd)
{
	bool full = server->conn_count >= server->connections_max;
	struct http_conn *conn;

	if (server->conn_count >= server->connections_max + REFUSABLE_MAX) {
		close(fd);
		return;
	}
	conn = new_conn(server, fd);
	if (conn == NULL)
		return;
	if (full)
		refuse(conn, 503,
		       "the server has as many connections as it takes: try again later");
	else
		set_timer(conn, server->times.head_ms);
	bufferevent_enable(conn->bev, EV_READ | EV_WRITE);
}
