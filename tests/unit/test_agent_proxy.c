/* SPDX-License-Identifier: MIT */
/* The agent's proxy: real clients on one side, the test as the host on the other. */
#include "base/auto.h"
#include "base/clock.h"
#include "support/agent_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct stage {
	struct agent_client agent;
	uint16_t port;
};

/* The next frame that is none of CREDIT. */
static struct wire_frame next(struct stage *s)
{
	struct wire_frame frame;

	do
		assert_true(agent_client_next(&s->agent, &frame));
	while (frame.type == WIRE_CREDIT);
	return frame;
}

static uint16_t ask_to_listen(struct stage *s, uint32_t channel)
{
	struct wire_frame frame;
	struct wire_port m;

	agent_client_send(&s->agent, WIRE_LISTEN, channel, "\0\0", 2);
	frame = next(s);
	assert_int_equal(frame.type, WIRE_LISTENING);
	assert_int_equal(frame.channel, channel);
	assert_true(wire_port_parse(frame.payload, frame.len, &m));
	assert_true(m.port != 0);
	return m.port;
}

static int open_stage(void **state)
{
	static struct stage s;

	agent_client_start(&s.agent);
	s.port = ask_to_listen(&s, 7);
	*state = &s;
	return 0;
}

static int close_stage(void **state)
{
	struct stage *s = *state;

	agent_client_stop(&s->agent);
	return 0;
}

static int dial(struct stage *s)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(s->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval patience = {.tv_sec = 20};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static void say(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

#define SAY(fd, text) say(fd, text, sizeof(text) - 1)

static void assert_hears(int fd, const void *data, size_t len)
{
	char got[4096];
	size_t have = 0;

	assert_true(len < sizeof(got));
	while (have < len) {
		ssize_t n = recv(fd, got + have, len - have, 0);

		assert_true(n > 0);
		have += (size_t)n;
	}
	assert_memory_equal(got, data, len);
}

#define HEARS(fd, text) assert_hears(fd, text, sizeof(text) - 1)

/* What the client hears until its end. */
static void hear_all(int fd, char *ret, size_t size)
{
	size_t have = 0;
	ssize_t n;

	while (have + 1 < size && (n = recv(fd, ret + have, size - 1 - have, 0)) > 0)
		have += (size_t)n;
	ret[have] = '\0';
}

/* A CONNECT comes; its channel. */
static uint32_t assert_asked(struct stage *s, enum wire_how how, const char *host, uint16_t port)
{
	struct wire_frame frame = next(s);
	struct wire_connect m;

	assert_int_equal(frame.type, WIRE_CONNECT);
	assert_true(frame.channel & WIRE_FROM_AGENT);
	assert_true(wire_connect_parse(frame.payload, frame.len, &m));
	assert_int_equal(m.how, how);
	assert_string_equal(m.host, host);
	assert_int_equal(m.port, port);
	assert_string_equal(m.fault, "");
	wire_connect_done(&m);
	return frame.channel;
}

static const char tunnel[] = "CONNECT a.example:443 HTTP/1.1\r\n\r\n";
static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";

static uint32_t open_tunnel(struct stage *s, int fd)
{
	uint32_t channel;

	SAY(fd, tunnel);
	channel = assert_asked(s, WIRE_HOW_CONNECT, "a.example", 443);
	agent_client_send(&s->agent, WIRE_OPENED, channel, NULL, 0);
	HEARS(fd, established);
	return channel;
}

/* ---- tests ---- */

static void it_listens_on_one_port_for_ever(void **state)
{
	struct stage *s = *state;
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	auto_close int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(ask_to_listen(s, 8), s->port);
	to.sin6_port = htons(s->port);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		assert_true(errno == EADDRNOTAVAIL || errno == ENETUNREACH);
}

static void a_tunnel_carries_bytes_and_both_ends(void **state)
{
	struct stage *s = *state;
	auto_close int fd = dial(s);
	uint32_t channel = open_tunnel(s, fd);
	struct wire_frame frame;

	agent_client_send(&s->agent, WIRE_DATA, channel, "from outside", 12);
	HEARS(fd, "from outside");
	SAY(fd, "from inside");
	frame = next(s);
	assert_int_equal(frame.type, WIRE_DATA);
	assert_memory_equal(frame.payload, "from inside", 11);
	shutdown(fd, SHUT_WR);
	assert_int_equal(next(s).type, WIRE_FINISH);
	agent_client_send(&s->agent, WIRE_DATA, channel, "still", 5);
	HEARS(fd, "still");
	agent_client_send(&s->agent, WIRE_FINISH, channel, NULL, 0);
	assert_int_equal(recv(fd, &(char){0}, 1, 0), 0);
}

static void what_comes_before_the_answer_is_not_lost(void **state)
{
	struct stage *s = *state;
	auto_close int fd = dial(s);
	struct wire_frame frame;
	uint32_t channel;

	SAY(fd, "CONNECT a.example:443 HTTP/1.1\r\n\r\nearly");
	channel = assert_asked(s, WIRE_HOW_CONNECT, "a.example", 443);
	agent_client_send(&s->agent, WIRE_OPENED, channel, NULL, 0);
	frame = next(s);
	assert_int_equal(frame.type, WIRE_DATA);
	assert_memory_equal(frame.payload, "early", 5);
}

static void a_refusal_is_told_in_the_clients_own_words(void **state)
{
	static const struct {
		enum wire_refusal kind;
		const char *http;
		char socks;
	} rows[] = {
		{WIRE_REFUSED_DENIED, "HTTP/1.1 403 no\r\n", 2}, {WIRE_REFUSED_NAME, "HTTP/1.1 502 no\r\n", 4},
		{WIRE_REFUSED_PEER, "HTTP/1.1 502 no\r\n", 5},	 {WIRE_REFUSED_TIMEOUT, "HTTP/1.1 504 no\r\n", 6},
		{WIRE_REFUSED_LIMIT, "HTTP/1.1 503 no\r\n", 1},
	};
	struct stage *s = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_buf struct sbx_buf payload = SBX_BUF_INIT(1024);
		struct wire_refused m = {.kind = rows[i].kind, .text = (char *)"no\nfor a reason\n"};
		auto_close int http = dial(s), socks = dial(s);
		const char answer[] = {5, rows[i].socks, 0, 1, 0, 0, 0, 0, 0, 0};
		char text[1024];
		uint32_t channel;

		wire_refused_format(&payload, &m);
		SAY(http, tunnel);
		channel = assert_asked(s, WIRE_HOW_CONNECT, "a.example", 443);
		agent_client_send(&s->agent, WIRE_REFUSED, channel, payload.data, payload.len);
		hear_all(http, text, sizeof(text));
		assert_memory_equal(text, rows[i].http, strlen(rows[i].http));
		assert_string_equal(text + strlen(text) - 16, "no\nfor a reason\n");

		SAY(socks, "\5\1\0");
		HEARS(socks, "\5\0");
		SAY(socks, "\5\1\0\3\11a.example\1\273");
		channel = assert_asked(s, WIRE_HOW_SOCKS5, "a.example", 443);
		agent_client_send(&s->agent, WIRE_REFUSED, channel, payload.data, payload.len);
		assert_hears(socks, answer, sizeof(answer));
	}
}

static void one_request_goes_through_and_then_the_connection_ends(void **state)
{
	struct stage *s = *state;
	auto_close int fd = dial(s);
	struct wire_frame frame;
	uint32_t channel;
	char text[64];

	SAY(fd, "POST http://a.example/x HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET http://b.example/ HTTP/1.1\r\n\r\n");
	channel = assert_asked(s, WIRE_HOW_HTTP, "a.example", 80);
	agent_client_send(&s->agent, WIRE_OPENED, channel, NULL, 0);
	frame = next(s);
	assert_memory_equal(frame.payload, "POST /x HTTP/1.1\r\nHost: a.example\r\n", 35);
	frame = next(s);
	assert_int_equal(frame.len, 3);
	assert_memory_equal(frame.payload, "abc", 3);
	agent_client_send(&s->agent, WIRE_DATA, channel, "answer", 6);
	agent_client_send(&s->agent, WIRE_FINISH, channel, NULL, 0);
	assert_int_equal(next(s).type, WIRE_FINISH);
	hear_all(fd, text, sizeof(text));
	assert_string_equal(text, "answer");
}

/* Credit comes back for what the client's socket takes, and no more than a window beyond it. */
static void a_client_that_does_not_read_is_given_no_credit(void **state)
{
	static const char piece[WIRE_PAYLOAD_MAX];
	struct stage *s = *state;
	auto_close int deaf = dial(s), other = dial(s);
	uint32_t channel = open_tunnel(s, deaf);
	size_t credit = WIRE_CONNECTION_WINDOW, sent = 0;
	struct pollfd fd = {.fd = s->agent.conn.fd, .events = POLLIN};

	for (;;) {
		struct wire_credit m;
		struct wire_frame frame;

		while (credit >= sizeof(piece)) {
			agent_client_send(&s->agent, WIRE_DATA, channel, piece, sizeof(piece));
			credit -= sizeof(piece);
			sent += sizeof(piece);
		}
		assert_true(sent < 64u << 20);
		if (s->agent.conn.in.len == s->agent.conn.in_at && poll(&fd, 1, 300) == 0)
			break;
		assert_true(agent_client_next(&s->agent, &frame));
		assert_int_equal(frame.type, WIRE_CREDIT);
		assert_true(wire_credit_parse(frame.payload, frame.len, &m));
		credit += m.bytes;
	}
	open_tunnel(s, other);
}

static void more_clients_than_it_takes_wait(void **state)
{
	struct stage *s = *state;
	int fds[300];

	for (size_t i = 0; i < 300; i++)
		fds[i] = dial(s);
	/* The first ones leave, and the last one is served. */
	for (size_t i = 0; i < 299; i++)
		close(fds[i]);
	open_tunnel(s, fds[299]);
	close(fds[299]);
}

static void a_host_that_breaks_the_protocol_ends_it(void **state)
{
	static const char piece[WIRE_PAYLOAD_MAX];
	struct stage *s = *state;

	for (int i = 0; i < 5; i++) {
		auto_close int fd = dial(s);
		uint32_t channel;

		SAY(fd, tunnel);
		channel = assert_asked(s, WIRE_HOW_CONNECT, "a.example", 443);
		if (i == 0)
			agent_client_send(&s->agent, WIRE_DATA, channel, "x", 1);
		else
			agent_client_send(&s->agent, WIRE_OPENED, channel, NULL, 0);
		if (i == 1)
			agent_client_send(&s->agent, WIRE_OPENED, channel, NULL, 0);
		else if (i == 2)
			agent_client_grant(&s->agent, channel, WIRE_FLOW_DATA, 1);
		else if (i == 3)
			agent_client_send(&s->agent, WIRE_REFUSED, channel, "\0\0\0\0\0\0\0\0", 8);
		for (int k = 0; i == 4 && k < 400 && !s->agent.conn.eof; k++)
			agent_client_send(&s->agent, WIRE_DATA, channel, piece, sizeof(piece));
		assert_true(agent_client_ends_with(&s->agent, SBX_E_PROTOCOL));
		if (i < 4) {
			agent_client_stop(&s->agent);
			agent_client_start(&s->agent);
			s->port = ask_to_listen(s, 7);
		}
	}
}

static void late_words_to_a_client_that_has_gone_are_passed_over(void **state)
{
	struct stage *s = *state;
	int fd = dial(s);
	uint32_t channel = open_tunnel(s, fd);
	auto_close int other = -1;

	close(fd);
	assert_int_equal(next(s).type, WIRE_FINISH);
	agent_client_send(&s->agent, WIRE_DATA, channel, "x", 1);
	agent_client_send(&s->agent, WIRE_CLOSE, channel, NULL, 0);
	agent_client_send(&s->agent, WIRE_DATA, channel, "x", 1);
	agent_client_send(&s->agent, WIRE_OPENED, channel, NULL, 0);
	other = dial(s);
	open_tunnel(s, other);
}

#define staged(function) cmocka_unit_test_setup_teardown(function, open_stage, close_stage)

int main(void)
{
	const struct CMUnitTest tests[] = {
		staged(it_listens_on_one_port_for_ever),
		staged(a_tunnel_carries_bytes_and_both_ends),
		staged(what_comes_before_the_answer_is_not_lost),
		staged(a_refusal_is_told_in_the_clients_own_words),
		staged(one_request_goes_through_and_then_the_connection_ends),
		staged(a_client_that_does_not_read_is_given_no_credit),
		staged(more_clients_than_it_takes_wait),
		staged(a_host_that_breaks_the_protocol_ends_it),
		staged(late_words_to_a_client_that_has_gone_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
