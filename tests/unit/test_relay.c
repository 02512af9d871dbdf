/* SPDX-License-Identifier: MIT */
/* The relay against an agent that the test plays, as hostile as one can be. */
#include "base/auto.h"
#include "base/clock.h"
#include "egress/relay.h"
#include "wire/conn.h"
#include "wire/message.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define DEADLINE_MS 20000
#define CHANNEL	    (WIRE_FROM_AGENT | 1)

struct stage {
	struct sbx_conn host, agent;
	struct sbx_relay *relay;
	int fds[2], listener;
	uint16_t port;
};

static int open_stage(void **state)
{
	struct stage *s = calloc(1, sizeof(*s));
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	struct sbx_network *network;
	struct sbx_error err;
	char rule[32];

	assert_non_null(s);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, s->fds), 0);
	sbx_conn_init(&s->host, s->fds[0], 'a');
	sbx_conn_init(&s->agent, s->fds[1], 'h');
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->listener, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(s->listener, 64), 0);
	assert_int_equal(getsockname(s->listener, (struct sockaddr *)&at, &len), 0);
	s->port = ntohs(at.sin_port);
	assert_int_equal(sbx_network_new(SBX_NETWORK_ALLOW, &network, &err), 0);
	snprintf(rule, sizeof(rule), "127.0.0.1:%u", s->port);
	assert_int_equal(sbx_network_allow(network, rule, false, &err), 0);
	assert_int_equal(sbx_relay_new(&s->host, network, sbx_now_ns(), &s->relay, &err), 0);
	sbx_network_free(network);
	*state = s;
	return 0;
}

static int close_stage(void **state)
{
	struct stage *s = *state;

	sbx_relay_free(s->relay);
	sbx_conn_done(&s->host);
	sbx_conn_done(&s->agent);
	close(s->fds[0]);
	close(s->fds[1]);
	close(s->listener);
	free(s);
	return 0;
}

/* One turn of the host; -code when the relay says that the session is over. */
static int turn(struct stage *s, int timeout_ms, struct sbx_error *err)
{
	struct pollfd fds[] = {sbx_conn_poll(&s->host),
			       {.fd = sbx_relay_fd(s->relay), .events = POLLIN}};
	struct wire_frame frame;
	int r = 0;

	assert_true(poll(fds, 2, timeout_ms) >= 0);
	if (fds[0].revents & POLLIN)
		r = sbx_conn_fill(&s->host, err);
	while (r == 0 && (r = sbx_conn_next(&s->host, &frame, err)) > 0)
		r = sbx_relay_take(s->relay, &frame, err);
	if (r == 0 && fds[1].revents)
		r = sbx_relay_pump(s->relay, err);
	return r < 0 ? r : sbx_conn_flush(&s->host, err);
}

static void send_frame(struct stage *s, enum wire_type type, uint32_t channel, const void *data,
		       size_t len)
{
	struct sbx_error err;

	assert_int_equal(sbx_conn_queue(&s->agent, type, channel, data, len, &err), 0);
	assert_int_equal(sbx_conn_flush(&s->agent, &err), 0);
}

static void send_connect(struct stage *s, uint32_t channel, const char *host, uint16_t port,
			 const char *fault)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(1024);
	struct wire_connect m = {
		.how = WIRE_HOW_CONNECT, .port = port, .host = (char *)host, .fault = (char *)fault};

	wire_connect_format(&payload, &m);
	send_frame(s, WIRE_CONNECT, channel, payload.data, payload.len);
}

/* Turns until the agent has got a frame of this type; its payload lives until the next turn. */
static struct wire_frame await(struct stage *s, enum wire_type type)
{
	uint64_t deadline_ns = sbx_deadline_ns(DEADLINE_MS);
	struct wire_frame frame;
	struct sbx_error err;

	while (sbx_now_ns() < deadline_ns) {
		int r = sbx_conn_next(&s->agent, &frame, &err);

		assert_true(r >= 0);
		if (r > 0 && frame.type == type)
			return frame;
		if (r > 0)
			continue;
		assert_int_equal(turn(s, 20, &err), 0);
		assert_int_equal(sbx_conn_flush(&s->agent, &err), 0);
		assert_int_equal(sbx_conn_fill(&s->agent, &err), 0);
	}
	fail_msg("no %s came", wire_type_name(type));
	return frame;
}

static int open_one(struct stage *s, uint32_t channel)
{
	int fd;

	send_connect(s, channel, "127.0.0.1", s->port, "");
	await(s, WIRE_OPENED);
	fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* What is queued leads to the end of the session. */
static void assert_breaks(struct stage *s)
{
	uint64_t deadline_ns = sbx_deadline_ns(DEADLINE_MS);
	struct sbx_error err = {0};
	int r = 0;

	while (r == 0 && sbx_now_ns() < deadline_ns)
		r = turn(s, 20, &err);
	assert_int_equal(r, -SBX_E_PROTOCOL);
}

static void drain(struct stage *s)
{
	struct sbx_error err;

	for (int i = 0; i < 5; i++)
		assert_int_equal(turn(s, 1, &err), 0);
}

/* ---- a hostile agent ---- */

static const uint8_t too_much_credit[] = {WIRE_FLOW_DATA, 1, 0, 0, 0};

static void data_before_it_is_open_ends_the_session(void **state)
{
	struct stage *s = *state;

	send_connect(s, CHANNEL, "127.0.0.1", s->port, "");
	send_frame(s, WIRE_DATA, CHANNEL, "x", 1);
	assert_breaks(s);
}

static void a_channel_that_is_opened_twice_ends_the_session(void **state)
{
	struct stage *s = *state;
	auto_close int fd = open_one(s, CHANNEL);

	send_connect(s, CHANNEL, "127.0.0.1", s->port, "");
	assert_breaks(s);
	assert_true(fd >= 0);
}

static void credit_that_nobody_owes_ends_the_session(void **state)
{
	struct stage *s = *state;
	auto_close int fd = open_one(s, CHANNEL);

	send_frame(s, WIRE_CREDIT, CHANNEL, too_much_credit, sizeof(too_much_credit));
	assert_breaks(s);
	assert_true(fd >= 0);
}

static void more_than_the_window_ends_the_session(void **state)
{
	static const char piece[WIRE_PAYLOAD_MAX];
	struct stage *s = *state;
	auto_close int fd = open_one(s, CHANNEL);
	struct sbx_error err = {0};
	uint64_t deadline_ns = sbx_deadline_ns(DEADLINE_MS);
	int r = 0;

	/* The peer reads nothing, so that credit comes back for what its socket takes, and no more. */
	while (r == 0 && sbx_now_ns() < deadline_ns) {
		assert_int_equal(sbx_conn_queue(&s->agent, WIRE_DATA, CHANNEL, piece, sizeof(piece), &err), 0);
		while (r == 0 && sbx_conn_has_output(&s->agent)) {
			assert_int_equal(sbx_conn_flush(&s->agent, &err), 0);
			r = turn(s, 1, &err);
		}
	}
	assert_int_equal(r, -SBX_E_PROTOCOL);
	assert_true(fd >= 0);
}

static void an_end_that_comes_twice_ends_the_session(void **state)
{
	struct stage *s = *state;
	auto_close int fd = open_one(s, CHANNEL);

	send_frame(s, WIRE_FINISH, CHANNEL, NULL, 0);
	send_frame(s, WIRE_FINISH, CHANNEL, NULL, 0);
	assert_breaks(s);
	assert_true(fd >= 0);
}

static void what_no_connection_sends_ends_the_session(void **state)
{
	struct stage *s = *state;

	send_frame(s, WIRE_LISTENING, CHANNEL, "ab", 2);
	assert_breaks(s);
}

static void a_malformed_connect_ends_the_session(void **state)
{
	struct stage *s = *state;

	send_frame(s, WIRE_CONNECT, CHANNEL, "\x09\x50\x00\x01\x00\x00\x00x\x00\x00\x00\x00", 12);
	assert_breaks(s);
}

static void late_words_to_what_is_over_are_passed_over(void **state)
{
	struct stage *s = *state;
	auto_close int fd = open_one(s, CHANNEL);

	send_frame(s, WIRE_CLOSE, CHANNEL, NULL, 0);
	send_frame(s, WIRE_DATA, CHANNEL, "x", 1);
	send_frame(s, WIRE_CREDIT, CHANNEL, too_much_credit, sizeof(too_much_credit));
	send_frame(s, WIRE_FINISH, CHANNEL, NULL, 0);
	send_frame(s, WIRE_CLOSE, CHANNEL, NULL, 0);
	drain(s);
	assert_int_equal(read(fd, &(char){0}, 1), 0);
}

/* An agent that says HTTP where a program speaks TLS gains nothing by it. */
static void plain_http_is_listened_to_as_well(void **state)
{
	struct stage *s = *state;
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(1024);
	struct wire_connect m = {
		.how = WIRE_HOW_HTTP, .port = 443, .host = (char *)"localhost", .fault = (char *)""};
	struct sbx_network *network;
	struct sbx_egress *list;
	struct sbx_error err;
	uint64_t total;
	size_t count;

	assert_int_equal(sbx_network_new(SBX_NETWORK_ALLOW, &network, &err), 0);
	assert_int_equal(sbx_network_allow(network, "localhost", false, &err), 0);
	assert_int_equal(sbx_relay_set_network(s->relay, network, &err), 0);
	sbx_network_free(network);
	wire_connect_format(&payload, &m);
	send_frame(s, WIRE_CONNECT, CHANNEL, payload.data, payload.len);
	await(s, WIRE_OPENED);
	send_frame(s, WIRE_DATA, CHANNEL, "\x16\x03\x01\x00\x01\x02", 6);
	await(s, WIRE_CLOSE);
	assert_int_equal(sbx_relay_log(s->relay, 0, &list, &count, &total, &err), 0);
	assert_int_equal(list[0].verdict, SBX_EGRESS_DENIED);
	free(list);
}

/* ---- the log, and many of them ---- */

static void what_the_agent_refused_is_logged_alone(void **state)
{
	struct stage *s = *state;
	struct sbx_egress *list;
	struct sbx_error err;
	uint64_t total;
	size_t count;

	send_connect(s, CHANNEL, "127.0.0.1", s->port, "a\nfault");
	drain(s);
	assert_int_equal(sbx_relay_log(s->relay, 0, &list, &count, &total, &err), 0);
	assert_int_equal(count, 1);
	assert_int_equal(list[0].verdict, SBX_EGRESS_DENIED);
	assert_string_equal(list[0].rule, "no proper request: a?fault");
	free(list);
	assert_int_equal(sbx_conn_fill(&s->agent, &err), 0);
	assert_int_equal(s->agent.in.len, 0);
}

static void thousands_of_refusals_cost_nothing(void **state)
{
	struct stage *s = *state;
	struct sbx_error err;

	for (uint32_t i = 0; i < 5000; i++) {
		send_connect(s, CHANNEL + i, "denied.example", 443, "");
		await(s, WIRE_REFUSED);
	}
	assert_int_equal(turn(s, 0, &err), 0);
}

/* A peer that reads nothing fills its own window; the one beside it is served meanwhile. */
static void a_peer_that_does_not_read_stalls_itself_alone(void **state)
{
	static const char piece[WIRE_PAYLOAD_MAX];
	struct stage *s = *state;
	auto_close int deaf = open_one(s, CHANNEL);
	auto_close int other = open_one(s, CHANNEL + 1);
	struct wire_frame frame;
	char text[8] = "";

	for (size_t sent = 0; sent < WIRE_CONNECTION_WINDOW; sent += sizeof(piece)) {
		send_frame(s, WIRE_DATA, CHANNEL, piece, sizeof(piece));
		drain(s);
	}
	send_frame(s, WIRE_DATA, CHANNEL + 1, "hello", 5);
	drain(s);
	assert_int_equal(read(other, text, sizeof(text)), 5);
	assert_int_equal(write(other, "world", 5), 5);
	frame = await(s, WIRE_DATA);
	assert_int_equal(frame.channel, CHANNEL + 1);
	assert_memory_equal(frame.payload, "world", 5);
	assert_true(deaf >= 0);
}

static void new_rules_from_another_thread_cut(void **state)
{
	struct stage *s = *state;
	auto_close int fd = open_one(s, CHANNEL);
	struct sbx_network *none;
	struct sbx_error err;

	assert_int_equal(sbx_network_new(SBX_NETWORK_NONE, &none, &err), 0);
	assert_int_equal(sbx_relay_set_network(s->relay, none, &err), 0);
	sbx_network_free(none);
	assert_int_equal(await(s, WIRE_CLOSE).channel, CHANNEL);
	assert_int_equal(read(fd, &(char){0}, 1), 0);
}

#define staged(function) cmocka_unit_test_setup_teardown(function, open_stage, close_stage)

int main(void)
{
	const struct CMUnitTest tests[] = {
		staged(data_before_it_is_open_ends_the_session),
		staged(a_channel_that_is_opened_twice_ends_the_session),
		staged(credit_that_nobody_owes_ends_the_session),
		staged(more_than_the_window_ends_the_session),
		staged(an_end_that_comes_twice_ends_the_session),
		staged(what_no_connection_sends_ends_the_session),
		staged(a_malformed_connect_ends_the_session),
		staged(late_words_to_what_is_over_are_passed_over),
		staged(plain_http_is_listened_to_as_well),
		staged(what_the_agent_refused_is_logged_alone),
		staged(thousands_of_refusals_cost_nothing),
		staged(a_peer_that_does_not_read_stalls_itself_alone),
		staged(new_rules_from_another_thread_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
