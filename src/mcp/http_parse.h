/* SPDX-License-Identifier: MIT */
/*
 * The head of an HTTP/1 request: bytes in, struct out, no I/O. Strict, because what two readers
 * understand differently is how requests are smuggled: CRLF only, no folded lines, no length
 * that is said twice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define HTTP_HEAD_MAX	(32u << 10)
#define HTTP_FIELDS_MAX 100

enum http_method {
	HTTP_OTHER,
	HTTP_GET,
	HTTP_POST,
	HTTP_DELETE,
	HTTP_OPTIONS
};

struct http_field {
	const char *name, *value;
};

/* All strings point into the text that was parsed. */
struct http_head {
	enum http_method method;
	const char *path;   /* of the target, without the query */
	unsigned int minor; /* of HTTP/1.minor */
	struct http_field fields[HTTP_FIELDS_MAX];
	size_t field_count;
	bool chunked;
	size_t length; /* of the body, when it is not chunked */
	bool keep_alive;
	bool expects_continue;
};

/*
 * Parse a head that ends with an empty line. text is cut into strings in place and must outlive
 * *ret. 0, or the HTTP status that says what is wrong with it.
 */
int http_head_parse(char *text, size_t len, struct http_head *ret);

/* The value of the first field of this name (in any case), or NULL. */
const char *http_head_find(const struct http_head *head, const char *name);

/* Whether the fields named Accept allow this media type; without any they do. */
bool http_head_accepts(const struct http_head *head, const char *type);

/* Whether the body is of this media type, whatever its parameters. */
bool http_head_is_type(const struct http_head *head, const char *type);
