/* SPDX-License-Identifier: MIT */
/*
 * Hostile bytes for what reads HTTP: heads, bodies by length and in chunks. Nothing may be read
 * or kept beyond what was given and allowed. Built with clang it is a libFuzzer target; with
 * SBX_FUZZ_MAIN it changes good requests from a fixed seed.
 */
#include "random.h"

#include "mcp/http_body.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_head(const struct http_head *head, const char *text, size_t len)
{
	if (head->field_count > HTTP_FIELDS_MAX || head->path < text || head->path >= text + len)
		abort();
	for (size_t i = 0; i < head->field_count; i++) {
		const char *value = head->fields[i].value;

		if (value < text || value + strlen(value) >= text + len ||
		    strpbrk(value, "\r\n") != NULL)
			abort();
	}
	http_head_accepts(head, "application/json");
	http_head_is_type(head, "application/json");
}

/* The body comes in pieces of any size; what is taken never depends on where they are cut. */
static int take_body(const struct http_head *head, const uint8_t *data, size_t size, size_t piece,
		     size_t *ret_len)
{
	struct evbuffer *in = evbuffer_new();
	struct http_body body;
	int r = http_body_init(&body, head, BODY_MAX);

	for (size_t at = 0; r == 0 && at < size; at += piece) {
		evbuffer_add(in, data + at, size - at < piece ? size - at : piece);
		r = http_body_take(&body, in);
	}
	*ret_len = body.data ? evbuffer_get_length(body.data) : 0;
	if (*ret_len > BODY_MAX || (r == 1 && !head->chunked && *ret_len != head->length))
		abort();
	http_body_done(&body);
	evbuffer_free(in);
	return r;
}

static void try_body(const struct http_head *head, const uint8_t *data, size_t size)
{
	size_t whole_len, cut_len;
	int whole = take_body(head, data, size, size + 1, &whole_len);
	int cut = take_body(head, data, size, 1, &cut_len);

	if ((whole == 1) != (cut == 1) || (whole == 1 && whole_len != cut_len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memmem(data, size, "\r\n\r\n", 4);
	size_t len = end == NULL ? size : (size_t)(end - data) + 4;
	char *text = malloc(len + 1);
	struct http_head head;

	memcpy(text, data, len);
	text[len] = '\0';
	if (http_head_parse(text, len, &head) == 0) {
		check_head(&head, text, len + 1);
		try_body(&head, data + len, size - len);
	}
	free(text);
	return 0;
}

#ifdef SBX_FUZZ_MAIN
static size_t make_input(uint8_t *ret, size_t max, uint32_t *state)
{
	static const char *const good[] = {
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json;q=0.5, */*\r\n"
		"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"POST /mcp?a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
		"2;x=y\r\n{}\r\n1\r\n \r\n0\r\nT: v\r\n\r\n",
		"GET /mcp HTTP/1.0\r\nConnection: close, x\r\nExpect: 100-continue\r\n\r\n",
	};
	static const char spice[] = "\r\n :;,\t0fF9*/=\"";
	const char *from = good[next(state) % 3];
	size_t size = strlen(from) < max ? strlen(from) : max;

	memcpy(ret, from, size);
	for (uint32_t i = next(state) % 4; i > 0; i--)
		ret[next(state) % size] =
			next(state) % 4 ? (uint8_t)spice[next(state) % 15] : (uint8_t)next(state);
	if (next(state) % 8 == 0)
		size = next(state) % size;
	return size;
}

int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, make_input);
}
#endif
