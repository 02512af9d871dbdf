/* SPDX-License-Identifier: MIT */
#include "mcp/http_body.h"

#include <string.h>

#define LINE_MAX_BYTES	  256u
#define TRAILER_MAX_BYTES (4u << 10)

int http_body_init(struct http_body *body, const struct http_head *head, size_t max)
{
	*body = (struct http_body){
		.max = max,
		.chunked = head->chunked,
		.left = head->length,
		.state = head->chunked ? HTTP_BODY_SIZE : HTTP_BODY_DATA,
	};
	if (head->length > max)
		return -413;
	body->data = evbuffer_new();
	return body->data == NULL ? -503 : 0;
}

void http_body_done(struct http_body *body)
{
	if (body->data != NULL)
		evbuffer_free(body->data);
	body->data = NULL;
}

static int take_data(struct http_body *body, struct evbuffer *input)
{
	size_t here = evbuffer_get_length(input);
	size_t n = here < body->left ? here : body->left;

	if (n > 0 && evbuffer_remove_buffer(input, body->data, n) != (int)n)
		return -503;
	body->left -= n;
	if (body->left > 0)
		return 0;
	if (!body->chunked)
		return 1;
	body->state = HTTP_BODY_GAP;
	return 2;
}

/* A line without its end into line; 2, 0 when it is not there yet, or -400. */
static int take_line(struct evbuffer *input, char line[LINE_MAX_BYTES])
{
	size_t eol;
	struct evbuffer_ptr at = evbuffer_search_eol(input, NULL, &eol, EVBUFFER_EOL_CRLF_STRICT);

	if (at.pos < 0)
		return evbuffer_get_length(input) <= LINE_MAX_BYTES ? 0 : -400;
	if ((size_t)at.pos >= LINE_MAX_BYTES)
		return -400;
	evbuffer_remove(input, line, (size_t)at.pos);
	line[at.pos] = '\0';
	evbuffer_drain(input, eol);
	return 2;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "1a2b", or with extensions behind a semicolon, which mean nothing to us. */
static bool parse_size(const char *line, size_t *ret)
{
	size_t value = 0, digits = 0;

	for (; hex_digit(line[digits]) >= 0; digits++) {
		if (digits == 8)
			return false;
		value = value * 16 + (size_t)hex_digit(line[digits]);
	}
	*ret = value;
	return digits > 0 && strchr("; \t", line[digits]) != NULL;
}

static int take_size(struct http_body *body, struct evbuffer *input)
{
	char line[LINE_MAX_BYTES];
	int r = take_line(input, line);

	if (r <= 0)
		return r;
	if (!parse_size(line, &body->left))
		return -400;
	if (body->left > body->max - evbuffer_get_length(body->data))
		return -413;
	body->state = body->left > 0 ? HTTP_BODY_DATA : HTTP_BODY_TRAILER;
	return 2;
}

static int take_gap(struct http_body *body, struct evbuffer *input)
{
	char line[LINE_MAX_BYTES];
	int r = take_line(input, line);

	if (r <= 0)
		return r;
	body->state = HTTP_BODY_SIZE;
	return line[0] == '\0' ? 2 : -400;
}

static int take_trailer(struct http_body *body, struct evbuffer *input)
{
	char line[LINE_MAX_BYTES];
	int r = take_line(input, line);

	if (r <= 0)
		return r;
	if (line[0] == '\0')
		return 1;
	body->trailer_bytes += strlen(line);
	return body->trailer_bytes > TRAILER_MAX_BYTES ? -431 : 2;
}

int http_body_take(struct http_body *body, struct evbuffer *input)
{
	int r = 2;

	while (r == 2) {
		switch (body->state) {
		case HTTP_BODY_DATA:
			r = take_data(body, input);
			break;
		case HTTP_BODY_SIZE:
			r = take_size(body, input);
			break;
		case HTTP_BODY_GAP:
			r = take_gap(body, input);
			break;
		case HTTP_BODY_TRAILER:
			r = take_trailer(body, input);
			break;
		}
	}
	return r;
}
