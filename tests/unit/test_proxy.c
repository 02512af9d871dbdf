/* SPDX-License-Identifier: MIT */
/* What the agent's proxy understands of HTTP and SOCKS5: the parsers alone. */
#include "agent/http_body.h"
#include "agent/http_head.h"
#include "agent/socks.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* ---- heads ---- */

static int parse(const char *text, struct http_head *head, struct sbx_buf *out)
{
	struct http_fault fault;
	int r = http_head_parse(text, strlen(text), head, out, &fault);

	assert_int_equal(r < 0, fault.status != 0);
	return r;
}

static void a_tunnel_is_asked_for_by_host_and_port(void **state)
{
	static const struct {
		const char *text, *host;
		unsigned int port;
	} rows[] = {
		{"CONNECT example.org:443 HTTP/1.1\r\n\r\n", "example.org", 443},
		{"CONNECT example.org:443 HTTP/1.0\r\nHost: x\r\nProxy-Authorization: y\r\n\r\n",
		 "example.org", 443},
		{"CONNECT [2001:db8::1]:8443 HTTP/1.1\r\n\r\nrest", "[2001:db8::1]", 8443},
		{"CONNECT 0x7f.1:00080 HTTP/1.1\r\n\r\n", "0x7f.1", 80},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct sbx_buf out = SBX_BUF_INIT(1024);
		struct http_head head;

		assert_int_equal(parse(rows[i].text, &head, &out), 1);
		assert_true(head.is_connect);
		assert_string_equal(head.host, rows[i].host);
		assert_int_equal(head.port, rows[i].port);
		assert_int_equal(out.len, 0);
		assert_string_equal(rows[i].text + head.size, i == 2 ? "rest" : "");
		sbx_buf_done(&out);
	}
}

static void a_head_is_taken_when_it_is_whole(void **state)
{
	static const char text[] = "GET http://a.example/ HTTP/1.1\r\nA: b\r\n\r\n";

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		struct sbx_buf out = SBX_BUF_INIT(1024);
		struct http_fault fault;
		struct http_head head;
		/* A copy of just this length, so that a read past it is seen. */
		char *cut = malloc(len + 1);

		assert_non_null(cut);
		memcpy(cut, text, len);
		cut[len] = '\0';
		assert_int_equal(http_head_parse(cut, len, &head, &out, &fault), len >= sizeof(text) - 1);
		free(cut);
		sbx_buf_done(&out);
	}
}

static void absolute_form_becomes_origin_form(void **state)
{
	static const char *const pairs[][2] = {
		{"GET http://a.example HTTP/1.1\r\n\r\n",
		 "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"},
		{"GET HTTP://a.example:80/x HTTP/1.1\r\nHost: b\r\n\r\n",
		 "GET /x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"},
		{"GET http://a.example:81?q HTTP/1.0\r\n\r\n",
		 "GET /?q HTTP/1.0\r\nHost: a.example:81\r\nConnection: close\r\n\r\n"},
		{"OPTIONS http://a.example HTTP/1.1\r\n\r\n",
		 "OPTIONS * HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"},
		{"POST http://[::1]/ HTTP/1.1\r\nContent-Length: 3\r\nConnection: Content-Length , X\r\nX: 1\r\n\r\nabc",
		 "POST / HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"},
		{"GET http://a.example/ HTTP/1.1\r\nx:y\r\nKeep-Alive: 5\r\nproxy-foo: 1\r\n\r\n",
		 "GET / HTTP/1.1\r\nHost: a.example\r\nx:y\r\nConnection: close\r\n\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(pairs); i++) {
		struct sbx_buf out = SBX_BUF_INIT(1024);
		struct http_head head;

		assert_int_equal(parse(pairs[i][0], &head, &out), 1);
		assert_string_equal(out.data, pairs[i][1]);
		sbx_buf_done(&out);
	}
}

static void what_could_be_read_in_two_ways_is_refused(void **state)
{
#define URL "GET http://a.example/ HTTP/1.1\r\n"
	static const char *const wrong[] = {
		URL "A: b\nC: d\r\n\r\n", URL "A: b\rC: d\r\n\r\n", "\nGET http://a.example/ HTTP/1.1\r\n\r\n",
		"\r\nGET http://a.example/ HTTP/1.1\r\n\r\n", URL " A: b\r\n\r\n", URL "A: b\r\n\tc\r\n\r\n",
		URL "A : b\r\n\r\n", URL "A\r\n\r\n", URL ": b\r\n\r\n", URL "A: \x01\r\n\r\n",
		URL "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", URL "Content-Length: -1\r\n\r\n",
		URL "Content-Length: 0x1\r\n\r\n", URL "Content-Length:\r\n\r\n", URL "Content-Length: 1 1\r\n\r\n",
		URL "Content-Length: 9999999999999999999\r\n\r\n", URL "Transfer-Encoding: gzip, chunked\r\n\r\n",
		URL "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", URL "Host: a\r\nHost: a\r\n\r\n",
		"GET http://a.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET http://a.example/\tHTTP/1.1\r\n\r\n", "GET http://a.example/ http/1.1\r\n\r\n",
		"GET http://a.example/ HTTP/1.10\r\n\r\n", "GET http://a.example/\x80 HTTP/1.1\r\n\r\n",
		"GE(T http://a.example/ HTTP/1.1\r\n\r\n", "GET http://:80/ HTTP/1.1\r\n\r\n",
		"GET http://a.example:/ HTTP/1.1\r\n\r\n", "GET http://a.example:0/ HTTP/1.1\r\n\r\n",
		"GET http://a.example:80:80/ HTTP/1.1\r\n\r\n", "GET http://[::1/ HTTP/1.1\r\n\r\n",
		"GET http://[::1]80/ HTTP/1.1\r\n\r\n", "CONNECT a.example HTTP/1.1\r\n\r\n",
		"CONNECT a.example:70000 HTTP/1.1\r\n\r\n", "CONNECT :443 HTTP/1.1\r\n\r\n",
		"CONNECT http://a.example:443 HTTP/1.1\r\n\r\n", "GET /x HTTP/1.1\r\nHost: a\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct sbx_buf out = SBX_BUF_INIT(1024);
		struct http_head head;

		if (parse(wrong[i], &head, &out) != -1)
			fail_msg("taken: %s", wrong[i]);
		sbx_buf_done(&out);
	}
}

/* ---- bodies ---- */

/* How many bytes of text belong to the body, in pieces of `size`; -1: broken, -2: not over. */
static long body_length(enum http_framing framing, uint64_t length, const char *text, size_t size)
{
	const struct http_head head = {.framing = framing, .length = length};
	struct http_body b = http_body_of(&head);
	long total = 0;

	for (size_t at = 0, len = strlen(text); at < len && !b.done; at += size) {
		long n = http_body_take(&b, text + at, len - at < size ? len - at : size);

		if (n < 0)
			return -1;
		total += n;
	}
	return b.done ? total : -2;
}

static void a_body_ends_where_its_framing_says(void **state)
{
	static const struct {
		const char *text;
		long wanted;
	} chunked[] = {
		{"0\r\n\r\nGET", 5},	   {"3\r\nabc\r\n0\r\n\r\nx", 13}, {"3;e=\"v\"\r\nabc\r\n00\r\nT: v\r\n\r\nx", 26},
		{"A\r\n0123456789\r\n0\r\n\r\n", 20}, {"3\r\nabc\r\n", -2},	   {"", -2},
		{"3\nabc\r\n0\r\n\r\n", -1},  {"\r\n", -1},		   {"3 \r\nabc\r\n", -1},
		{"3\r\nabcd\r\n", -1},	   {"x\r\n", -1},		   {"0000000000003\r\n", -1},
		{"0\r\n\n", -1},	   {"0\r\nT: v\n\r\n", -1},	   {"0\r\n T: v\r\n\r\n", -1},
		{"3\r\nabc\n0\r\n\r\n", -1}, {"3\r\r\nabc\r\n", -1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(chunked); i++) {
		for (size_t size = 1; size < 8; size++)
			assert_int_equal(body_length(HTTP_CHUNKED, 0, chunked[i].text, size),
					 chunked[i].wanted);
	}
	assert_int_equal(body_length(HTTP_LENGTH, 3, "abcdef", 2), 3);
	assert_int_equal(body_length(HTTP_NO_BODY, 0, "abcdef", 2), 0);
}

/* ---- SOCKS5 ---- */

static void socks_messages_are_taken_when_they_are_whole(void **state)
{
	static const uint8_t greeting[] = {5, 2, 2, 0}, password[] = {1, 2, 'a', 'b', 1, 'c'},
			     request[] = {5, 1, 0, 3, 9, 'a', '.', 'e', 'x', 'a', 'm', 'p', 'l', 'e', 1, 187},
			     v6[] = {5, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 80};
	struct socks_request r;
	enum socks_method method;

	(void)state;
	for (size_t i = 0; i < sizeof(greeting); i++)
		assert_int_equal(socks_greeting_parse(greeting, i, &method), 0);
	assert_int_equal(socks_greeting_parse(greeting, 4, &method), 4);
	assert_int_equal(method, SOCKS_NO_AUTH);
	for (size_t i = 0; i < sizeof(password); i++)
		assert_int_equal(socks_password_parse(password, i), 0);
	assert_int_equal(socks_password_parse(password, 6), 6);
	for (size_t i = 0; i < sizeof(request); i++)
		assert_int_equal(socks_request_parse(request, i, &r), 0);
	assert_int_equal(socks_request_parse(request, sizeof(request), &r), sizeof(request));
	assert_string_equal(r.host, "a.example");
	assert_int_equal(r.port, 443);
	assert_int_equal(socks_request_parse(v6, sizeof(v6), &r), sizeof(v6));
	assert_string_equal(r.host, "::1");
	assert_int_equal(r.port, 80);
}

static void socks_faults_have_their_codes(void **state)
{
	static const uint8_t bind[] = {5, 2, 0, 1, 127, 0, 0, 1, 0, 80}, odd[] = {5, 1, 0, 9, 0, 0, 0},
			     four[] = {4, 1, 0, 80, 127}, empty[] = {5, 1, 0, 3, 0, 0, 80};
	struct socks_request r;

	(void)state;
	assert_int_equal(socks_request_parse(bind, sizeof(bind), &r), sizeof(bind));
	assert_int_equal(r.fault, SOCKS_NO_COMMAND);
	assert_int_equal(socks_request_parse(odd, sizeof(odd), &r), sizeof(odd));
	assert_int_equal(r.fault, SOCKS_NO_ADDRESS);
	assert_int_equal(socks_request_parse(four, sizeof(four), &r), -1);
	assert_int_equal(socks_request_parse(empty, sizeof(empty), &r), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tunnel_is_asked_for_by_host_and_port),
		cmocka_unit_test(a_head_is_taken_when_it_is_whole),
		cmocka_unit_test(absolute_form_becomes_origin_form),
		cmocka_unit_test(what_could_be_read_in_two_ways_is_refused),
		cmocka_unit_test(a_body_ends_where_its_framing_says),
		cmocka_unit_test(socks_messages_are_taken_when_they_are_whole),
		cmocka_unit_test(socks_faults_have_their_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
