/* SPDX-License-Identifier: MIT */
/*
 * Hostile bytes for all that reads what a program inside says: HTTP, SOCKS5, host strings, TLS.
 * What passes must keep its promises: a new head parses again to the same host, a name holds
 * nothing but what a host name may hold, and a body never takes more than it was given.
 */
#include "random.h"

#include "agent/http_body.h"
#include "agent/http_head.h"
#include "agent/socks.h"
#include "base/error.h"
#include "egress/rule.h"
#include "egress/sni.h"
#include "egress/spelling.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* A new head must hold nothing that ends it early, and say what was judged. */
static void check_new_head(const struct http_head *head, const struct sbx_buf *out)
{
	must(out->len > 4 && memcmp(out->data + out->len - 4, "\r\n\r\n", 4) == 0);
	must(memmem(out->data, out->len - 4, "\r\n\r\n", 4) == NULL);
	must(memchr(out->data, '\0', out->len) == NULL);
	must(head->host[0] != '\0' && head->port != 0);
	must(strpbrk(head->host, " \r\n@/") == NULL);
}

static void try_http(const uint8_t *data, size_t size)
{
	struct sbx_buf out = SBX_BUF_INIT(HTTP_HEAD_MAX + 512);
	char *text = malloc(size + 1);
	struct http_fault fault;
	struct http_head head;
	struct http_body body;

	memcpy(text, data, size);
	text[size] = '\0';
	if (http_head_parse(text, size, &head, &out, &fault) == 1) {
		must(head.size <= size);
		if (!head.is_connect)
			check_new_head(&head, &out);
	}
	free(text);
	sbx_buf_done(&out);
	head = (struct http_head){.framing = HTTP_CHUNKED};
	body = http_body_of(&head);
	must(http_body_take(&body, (const char *)data, size) <= (long)size);
}

static void try_socks(const uint8_t *data, size_t size)
{
	struct socks_request request;
	enum socks_method method;

	must(socks_greeting_parse(data, size, &method) <= (long)size);
	must(socks_password_parse(data, size) <= (long)size);
	must(socks_request_parse(data, size, &request) <= (long)size);
	must(strlen(request.host) <= WIRE_HOST_MAX);
}

static void try_host(const uint8_t *data, size_t size)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
	char *text = malloc(size + 1);
	struct sbx_error err;
	struct sbx_rule rule;
	struct host host;

	memcpy(text, data, size);
	text[size] = '\0';
	host_parse(text, &host);
	if (host.kind == HOST_IS_NAME) {
		must(host.name[0] != '\0' && strspn(host.name, good) == strlen(host.name));
		must(strlen(host.name) <= HOST_NAME_MAX_BYTES);
	}
	must((host.kind == HOST_IS_WRONG) == (host.fault != NULL));
	if (rule_parse(text, false, &rule, &err) == 0)
		must(strcmp(rule.text, text) == 0);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[HOST_NAME_MAX_BYTES + 1];

	try_http(data, size);
	try_socks(data, size);
	try_host(data, size);
	if (sni_parse(data, size, name) == SNI_NAME)
		must(strlen(name) > 0 && strlen(name) <= HOST_NAME_MAX_BYTES);
	return 0;
}

#ifdef SBX_FUZZ_MAIN
/* Pieces of what might be meant, put together at random, with a byte changed here and there. */
static size_t make_input(uint8_t *ret, size_t max, uint32_t *state)
{
	static const char *const pieces[] = {
		"GET ", "CONNECT ", "http://", "a.example", "127.0.0.1", "0x7f.1", ":80", "/", " HTTP/1.1\r\n",
		" HTTP/1.0\r\n", "Host: ", "Content-Length: 5", "Transfer-Encoding: chunked", "\r\n", "\r\n\r\n",
		"Connection: ", "close", "3\r\nabc\r\n", "0\r\n\r\n", "\x05\x01", "\x16\x03\x01", "[::1]", "*.",
		"::ffff:", "/8", "@", "%", ".", "-", "_", "017", "x", " ", "\t", ";",
	};
	size_t size = 0, wanted = next(state) % 24;

	for (size_t i = 0; i < wanted; i++) {
		const char *piece = pieces[next(state) % (sizeof(pieces) / sizeof(pieces[0]))];

		for (; *piece != '\0' && size < max; piece++)
			ret[size++] = (uint8_t)(next(state) % 100 ? *piece : (char)next(state));
	}
	while (size < max && next(state) % 8 == 0)
		ret[size++] = (uint8_t)next(state);
	return size;
}

int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, make_input);
}
#endif
