/* SPDX-License-Identifier: MIT */
/*
 * The head of a request to the proxy: bytes in, struct out, no I/O (RFC 9112).
 *
 * CONNECT host:port, or absolute form, whose head is written anew for the server: origin form,
 * Host from the URL, one request a connection, and nothing that is meant for the proxy. What two
 * readers could understand in two ways is refused; so is all that is not plainly HTTP/1.
 */
#pragma once

#include "base/buf.h"
#include "wire/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_MAX 16384

/* How the end of a request's body is found. */
enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED };

struct http_head {
	bool is_connect;
	char host[WIRE_HOST_MAX + 1];
	uint16_t port;
	size_t size; /* of the head in the input */
	enum http_framing framing;
	uint64_t length; /* of HTTP_LENGTH */
};

/* What is wrong, for the answer and the log; a status of 0 means nothing is. */
struct http_fault {
	int status; /* 400, 405, 431, 501 */
	const char *text;
};

/*
 * Parse the head at the start of data: 1, 0 when more bytes are needed, or -1 and *fault; then
 * ret->host and ret->port are what was understood so far, or "" and 0. For absolute form the new
 * head is appended to out.
 */
int http_head_parse(const char *data, size_t len, struct http_head *ret, struct sbx_buf *out,
		    struct http_fault *fault);
