/* SPDX-License-Identifier: MIT */
#include "agent/proxy_ask.h"

#include "agent/send.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* ---- answers ---- */

/* One line of text, without what would end the line of a status early. */
static void append_line(struct sbx_buf *out, const char *text)
{
	for (size_t i = 0; text[i] != '\0' && text[i] != '\n' && i < 200; i++) {
		char c = text[i] >= ' ' && text[i] < 0x7f ? text[i] : '?';

		sbx_buf_append(out, &c, 1);
	}
}

/* Many clients show the status line alone: it says why, too. */
static void answer_http(struct client *c, int status, const char *text)
{
	sbx_buf_printf(&c->out, "HTTP/1.1 %d ", status);
	append_line(&c->out, text);
	sbx_buf_printf(&c->out,
		       "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
		       "Connection: close\r\n\r\n",
		       strlen(text));
	sbx_buf_puts(&c->out, text);
}

static void answer_socks(struct client *c, enum socks_reply reply)
{
	uint8_t answer[SOCKS_ANSWER_SIZE];

	socks_answer_format(reply, answer);
	client_put(c, answer, sizeof(answer));
}

void client_answer_opened(struct client *c, struct sbx_conn *conn)
{
	static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";

	if (c->how == WIRE_HOW_CONNECT)
		client_put(c, established, sizeof(established) - 1);
	else if (c->how == WIRE_HOW_SOCKS5)
		answer_socks(c, SOCKS_DONE);
	else
		send_bytes(conn, WIRE_DATA, c->channel, c->head.data, c->head.len);
	if (c->how == WIRE_HOW_HTTP)
		c->credit -= c->head.len;
	sbx_buf_done(&c->head);
}

void client_answer_refused(struct client *c, const struct wire_refused *m)
{
	static const struct {
		int status;
		enum socks_reply reply;
	} rows[WIRE_REFUSED_COUNT] = {
		[WIRE_REFUSED_DENIED] = {403, SOCKS_DENIED},
		[WIRE_REFUSED_NAME] = {502, SOCKS_UNREACHABLE},
		[WIRE_REFUSED_PEER] = {502, SOCKS_REFUSED},
		[WIRE_REFUSED_TIMEOUT] = {504, SOCKS_TIMEOUT},
		[WIRE_REFUSED_LIMIT] = {503, SOCKS_FAILED},
	};

	if (c->how == WIRE_HOW_SOCKS5)
		answer_socks(c, rows[m->kind].reply);
	else
		answer_http(c, rows[m->kind].status, m->text);
}

/* ---- what it asks for ---- */

static void ask_host(struct client *c, struct sbx_conn *conn, const char *host, uint16_t port,
		     const char *fault)
{
	struct sbx_buf payload = SBX_BUF_INIT(1024);
	struct wire_connect m = {
		.how = (uint8_t)c->how,
		.port = port,
		.host = (char *)(host[0] ? host : "?"),
		.fault = (char *)fault,
	};

	wire_connect_format(&payload, &m);
	send_bytes(conn, WIRE_CONNECT, c->channel, payload.data, payload.len);
	sbx_buf_done(&payload);
	if (fault[0] == '\0') {
		c->phase = CLIENT_WAITING;
		c->deadline_ns = 0; /* the host has one */
	}
}

static void read_http(struct client *c, struct sbx_conn *conn)
{
	char text[256];
	struct http_fault fault;
	struct http_head head;
	int r = http_head_parse(c->in.data, c->in.len, &head, &c->head, &fault);

	if (r == 0)
		return;
	c->how = head.is_connect ? WIRE_HOW_CONNECT : WIRE_HOW_HTTP;
	if (r < 0) {
		ask_host(c, conn, head.host, head.port, fault.text);
		snprintf(text, sizeof(text), "the sandbox's proxy refused this request: %s\n",
			 fault.text);
		answer_http(c, fault.status, text);
		client_leave(c, conn);
		return;
	}
	sbx_buf_consume(&c->in, head.size);
	c->has_body = !head.is_connect;
	c->body = http_body_of(&head);
	ask_host(c, conn, head.host, head.port, "");
}

static void read_greeting(struct client *c, struct sbx_conn *conn)
{
	enum socks_method method;
	long n = socks_greeting_parse((uint8_t *)c->in.data, c->in.len, &method);

	if (n < 0)
		client_drop(c, conn);
	if (n <= 0)
		return;
	sbx_buf_consume(&c->in, (size_t)n);
	client_put(c, (uint8_t[]){5, (uint8_t)method}, 2);
	c->speech = method == SOCKS_PASSWORD ? SPEECH_PASSWORD : SPEECH_REQUEST;
	if (method == SOCKS_NO_METHOD) {
		ask_host(c, conn, "?", 0, "SOCKS5 without a method that this proxy has");
		client_leave(c, conn);
	}
}

static void read_password(struct client *c, struct sbx_conn *conn)
{
	long n = socks_password_parse((uint8_t *)c->in.data, c->in.len);

	if (n < 0)
		client_drop(c, conn);
	if (n <= 0)
		return;
	sbx_buf_consume(&c->in, (size_t)n);
	client_put(c, (uint8_t[]){1, 0}, 2);
	c->speech = SPEECH_REQUEST;
}

static void refuse_socks(struct client *c, struct sbx_conn *conn,
			 const struct socks_request *request)
{
	ask_host(c, conn, request->host, request->port,
		 request->fault == SOCKS_NO_COMMAND ? "SOCKS5 with another command than CONNECT"
						    : "SOCKS5 with an unknown kind of address");
	answer_socks(c, request->fault);
	client_leave(c, conn);
}

static void read_request(struct client *c, struct sbx_conn *conn)
{
	struct socks_request request;
	long n = socks_request_parse((uint8_t *)c->in.data, c->in.len, &request);

	if (n < 0)
		client_drop(c, conn);
	if (n <= 0)
		return;
	sbx_buf_consume(&c->in, (size_t)n);
	if (request.fault != SOCKS_DONE)
		refuse_socks(c, conn, &request);
	else
		ask_host(c, conn, request.host, request.port, "");
}

/* The first byte tells: 5 is SOCKS5, a letter begins a method of HTTP. */
static void find_speech(struct client *c, struct sbx_conn *conn)
{
	char first = c->in.data[0];

	if (first == 5) {
		c->speech = SPEECH_GREETING;
		c->how = WIRE_HOW_SOCKS5;
	} else if ((first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z')) {
		c->speech = SPEECH_HTTP;
	} else {
		ask_host(c, conn, "?", 0,
			 first == 4    ? "SOCKS4, where SOCKS5 is spoken"
			 : first == 22 ? "TLS to the proxy itself"
				       : "neither HTTP nor SOCKS5");
		client_drop(c, conn);
	}
}

/* Each step may leave the next one's bytes. */
static void understand(struct client *c, struct sbx_conn *conn)
{
	size_t left = SIZE_MAX;

	while (c->phase == CLIENT_ASKING && c->in.len > 0 && c->in.len != left) {
		left = c->in.len;
		if (c->speech == SPEECH_UNKNOWN)
			find_speech(c, conn);
		if (c->phase != CLIENT_ASKING)
			break;
		if (c->speech == SPEECH_HTTP)
			read_http(c, conn);
		else if (c->speech == SPEECH_GREETING)
			read_greeting(c, conn);
		else if (c->speech == SPEECH_PASSWORD)
			read_password(c, conn);
		else if (c->speech == SPEECH_REQUEST)
			read_request(c, conn);
	}
	if (c->phase != CLIENT_GONE)
		client_flush(c, conn);
}

void client_read_request(struct client *c, struct sbx_conn *conn)
{
	size_t room = HTTP_HEAD_MAX - c->in.len;
	char *at = room > 0 ? sbx_buf_reserve(&c->in, room) : NULL;
	ssize_t n = at ? recv(c->fd, at, room, 0) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		client_drop(c, conn);
		return;
	}
	c->in.len += (size_t)n;
	c->in.data[c->in.len] = '\0';
	understand(c, conn);
}
