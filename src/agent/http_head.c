/* SPDX-License-Identifier: MIT */
#include "agent/http_head.h"

#include <string.h>
#include <strings.h>

#define METHOD_MAX 32

/* A piece of the input. */
struct piece {
	const char *at;
	size_t len;
};

struct parser {
	struct http_head *head;
	struct http_fault *fault;
	struct piece method, target, path;
	bool is_old; /* HTTP/1.0 */
	bool has_host, has_length, has_encoding;
};

static bool fail(struct parser *p, int status, const char *text)
{
	*p->fault = (struct http_fault){.status = status, .text = text};
	return false;
}

static bool is(struct piece piece, const char *text)
{
	return piece.len == strlen(text) && strncasecmp(piece.at, text, piece.len) == 0;
}

/* RFC 9110 section 5.6.2. */
static bool is_token_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_token(struct piece piece)
{
	for (size_t i = 0; i < piece.len; i++) {
		if (!is_token_char(piece.at[i]))
			return false;
	}
	return piece.len > 0;
}

/* ---- where the head ends ---- */

/*
 * The end of the head, 0 while it is not there, or -1: a NUL, or a CR or LF without the other, is
 * where readers differ on where a line ends.
 */
static long find_end(const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = data[i];

		if (c == '\0' || (c == '\n' && (i == 0 || data[i - 1] != '\r')))
			return -1;
		if (c == '\r' && i + 1 < len && data[i + 1] != '\n')
			return -1;
		if (c == '\n' && i >= 3 && data[i - 2] == '\n')
			return (long)i + 1;
	}
	return 0;
}

/* The next line without its end; the input is known to have one. */
static struct piece next_line(const char **at)
{
	const char *start = *at, *end = strchr(start, '\r');

	*at = end + 2;
	return (struct piece){start, (size_t)(end - start)};
}

/* ---- the host ---- */

static bool set_port(struct parser *p, struct piece digits)
{
	unsigned int port = 0;

	for (size_t i = 0; i < digits.len; i++) {
		char c = digits.at[i];

		if (c < '0' || c > '9' || digits.len > 5)
			return fail(p, 400, "the port is no number");
		port = port * 10 + (unsigned int)(c - '0');
	}
	if (port == 0 || port > 65535)
		return fail(p, 400, "the port is not within 1 to 65535");
	p->head->port = (uint16_t)port;
	return true;
}

static void keep_host(struct parser *p, struct piece host)
{
	size_t len = host.len < WIRE_HOST_MAX ? host.len : WIRE_HOST_MAX;

	memcpy(p->head->host, host.at, len);
	p->head->host[len] = '\0';
}

/* "host", "host:port", "[v6]:port"; whether it may be reached is the host's to judge. */
static bool set_authority(struct parser *p, struct piece authority, uint16_t default_port)
{
	struct piece host = authority, port = {0};
	const char *close = NULL;

	keep_host(p, authority);
	if (memchr(authority.at, '@', authority.len) != NULL)
		return fail(p, 400, "there is a user name before the host");
	if (authority.len > 0 && authority.at[0] == '[') {
		close = memchr(authority.at, ']', authority.len);
		if (close == NULL)
			return fail(p, 400, "the bracket of an IPv6 address is not closed");
		host.len = (size_t)(close + 1 - authority.at);
	} else {
		const char *colon = memchr(authority.at, ':', authority.len);

		host.len = colon ? (size_t)(colon - authority.at) : authority.len;
	}
	if (host.len == 0)
		return fail(p, 400, "there is no host");
	if (host.len > WIRE_HOST_MAX)
		return fail(p, 400, "the host is longer than 255 bytes");
	keep_host(p, host);
	if (host.len < authority.len) {
		if (authority.at[host.len] != ':')
			return fail(p, 400, "there is something after the host that is no port");
		port = (struct piece){host.at + host.len + 1, authority.len - host.len - 1};
	}
	if (port.len > 0)
		return set_port(p, port);
	if (default_port == 0 || port.at != NULL)
		return fail(p, 400, "there is no port after the host");
	p->head->port = default_port;
	return true;
}

/* ---- the request line ---- */

static bool split_request_line(struct parser *p, struct piece line)
{
	const char *end = line.at + line.len;
	const char *first = memchr(line.at, ' ', line.len);
	const char *second = first ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;
	struct piece version;

	if (second == NULL)
		return fail(p, 400, "the first line is no request");
	p->method = (struct piece){line.at, (size_t)(first - line.at)};
	p->target = (struct piece){first + 1, (size_t)(second - first - 1)};
	version = (struct piece){second + 1, (size_t)(end - second - 1)};
	if (!is_token(p->method) || p->method.len > METHOD_MAX)
		return fail(p, 400, "the method is no word");
	if (version.len != 8 || memcmp(version.at, "HTTP/1.", 7) != 0 ||
	    (version.at[7] != '0' && version.at[7] != '1'))
		return fail(p, 400, "the version is not HTTP/1.0 or HTTP/1.1");
	p->is_old = version.at[7] == '0';
	for (size_t i = 0; i < p->target.len; i++) {
		if (p->target.at[i] <= ' ' || p->target.at[i] > '~' || p->target.at[i] == '#')
			return fail(p, 400, "the target has a character that no URL has");
	}
	return true;
}

static bool parse_absolute(struct parser *p)
{
	static const char scheme[] = "http://";
	size_t skip = sizeof(scheme) - 1;
	const char *end = p->target.at + p->target.len;
	struct piece authority;

	if (p->target.len > 8 && strncasecmp(p->target.at, "https://", 8) == 0)
		return fail(p, 400, "https goes through CONNECT");
	if (p->target.len <= skip || strncasecmp(p->target.at, scheme, skip) != 0)
		return fail(
			p, 400,
			"this is the sandbox's proxy: it takes CONNECT host:port and http:// URLs");
	authority.at = p->target.at + skip;
	authority.len = 0;
	while (authority.at + authority.len < end && authority.at[authority.len] != '/' &&
	       authority.at[authority.len] != '?')
		authority.len++;
	p->path.at = authority.at + authority.len;
	p->path.len = (size_t)(end - p->path.at);
	return set_authority(p, authority, 80);
}

static bool parse_request_line(struct parser *p, struct piece line)
{
	if (!split_request_line(p, line))
		return false;
	p->head->is_connect = p->method.len == 7 && memcmp(p->method.at, "CONNECT", 7) == 0;
	return p->head->is_connect ? set_authority(p, p->target, 0) : parse_absolute(p);
}

/* ---- the fields ---- */

static bool split_field(struct parser *p, struct piece line, struct piece *name,
			struct piece *value)
{
	const char *colon = memchr(line.at, ':', line.len);

	if (line.at[0] == ' ' || line.at[0] == '\t')
		return fail(p, 400, "a field goes on in the next line, which is obsolete");
	if (colon == NULL)
		return fail(p, 400, "a field has no colon");
	*name = (struct piece){line.at, (size_t)(colon - line.at)};
	if (!is_token(*name))
		return fail(p, 400, "a field's name is no word");
	*value = (struct piece){colon + 1, line.len - name->len - 1};
	while (value->len > 0 && (value->at[0] == ' ' || value->at[0] == '\t'))
		*value = (struct piece){value->at + 1, value->len - 1};
	while (value->len > 0 && strchr(" \t", value->at[value->len - 1]) != NULL)
		value->len--;
	for (size_t i = 0; i < value->len; i++) {
		unsigned char c = (unsigned char)value->at[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return fail(p, 400, "a field has a control character in it");
	}
	return true;
}

static bool take_length(struct parser *p, struct piece value)
{
	uint64_t length = 0;

	if (p->has_length)
		return fail(p, 400, "there is more than one Content-Length");
	p->has_length = true;
	if (value.len == 0 || value.len > 18)
		return fail(p, 400, "the Content-Length is no number");
	for (size_t i = 0; i < value.len; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return fail(p, 400, "the Content-Length is no number");
		length = length * 10 + (uint64_t)(value.at[i] - '0');
	}
	p->head->framing = length > 0 ? HTTP_LENGTH : HTTP_NO_BODY;
	p->head->length = length;
	return true;
}

static bool take_encoding(struct parser *p, struct piece value)
{
	if (p->has_encoding)
		return fail(p, 400, "there is more than one Transfer-Encoding");
	p->has_encoding = true;
	if (p->is_old)
		return fail(p, 400, "HTTP/1.0 has no Transfer-Encoding");
	if (!is(value, "chunked"))
		return fail(p, 501, "the Transfer-Encoding is not 'chunked'");
	p->head->framing = HTTP_CHUNKED;
	return true;
}

static bool take_field(struct parser *p, struct piece name, struct piece value)
{
	if (is(name, "Content-Length"))
		return take_length(p, value);
	if (is(name, "Transfer-Encoding"))
		return take_encoding(p, value);
	if (!is(name, "Host"))
		return true;
	if (p->has_host)
		return fail(p, 400, "there is more than one Host");
	p->has_host = true;
	return true;
}

/* What is for this connection alone (RFC 9110 section 7.6.1), or is written anew. */
static bool is_ours(struct piece name)
{
	static const char *const names[] = {"Host", "Connection", "Keep-Alive", "TE", "Upgrade"};

	if (name.len >= 6 && strncasecmp(name.at, "Proxy-", 6) == 0)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (is(name, names[i]))
			return true;
	}
	return false;
}

/* Fields that no Connection field may take away: the message's meaning hangs on them. */
static bool is_vital(struct piece name)
{
	return is(name, "Content-Length") || is(name, "Transfer-Encoding");
}

/* Whether the list in value has this name. */
static bool lists(struct piece value, struct piece name)
{
	const char *at = value.at, *end = value.at + value.len;

	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *stop = comma ? comma : end;
		struct piece word = {at, (size_t)(stop - at)};

		while (word.len > 0 && (word.at[0] == ' ' || word.at[0] == '\t'))
			word = (struct piece){word.at + 1, word.len - 1};
		while (word.len > 0 && strchr(" \t", word.at[word.len - 1]) != NULL)
			word.len--;
		if (word.len == name.len && strncasecmp(word.at, name.at, name.len) == 0)
			return true;
		at = stop + 1;
	}
	return false;
}

/* Whether one of the Connection fields names it. */
static bool is_named_by_connection(struct parser *p, const char *fields, const char *end,
				   struct piece name)
{
	struct piece line, field, value;

	while (fields < end) {
		line = next_line(&fields);
		if (split_field(p, line, &field, &value) && is(field, "Connection") &&
		    lists(value, name))
			return true;
	}
	return false;
}

/* ---- the new head ---- */

static void write_head(struct parser *p, const char *fields, const char *end, struct sbx_buf *out)
{
	const char *at = fields;
	struct piece line, name, value;

	sbx_buf_append(out, p->method.at, p->method.len);
	sbx_buf_puts(out, " ");
	if (p->path.len == 0 && is(p->method, "OPTIONS"))
		sbx_buf_puts(out, "*");
	else if (p->path.len == 0 || p->path.at[0] == '?')
		sbx_buf_puts(out, "/");
	sbx_buf_append(out, p->path.at, p->path.len);
	sbx_buf_printf(out, " HTTP/1.%c\r\nHost: %s", p->is_old ? '0' : '1', p->head->host);
	if (p->head->port != 80)
		sbx_buf_printf(out, ":%u", p->head->port);
	sbx_buf_puts(out, "\r\n");
	while (at < end) {
		line = next_line(&at);
		if (!split_field(p, line, &name, &value) || is_ours(name) ||
		    (!is_vital(name) && is_named_by_connection(p, fields, end, name)))
			continue;
		sbx_buf_append(out, line.at, line.len);
		sbx_buf_puts(out, "\r\n");
	}
	sbx_buf_puts(out, "Connection: close\r\n\r\n");
}

static bool parse_fields(struct parser *p, const char *at, const char *end)
{
	struct piece line, name, value;

	while (at < end) {
		line = next_line(&at);
		if (!split_field(p, line, &name, &value) || !take_field(p, name, value))
			return false;
	}
	if (p->has_length && p->has_encoding)
		return fail(p, 400, "there are both a Content-Length and a Transfer-Encoding");
	if (p->head->is_connect && (p->has_encoding || p->head->framing != HTTP_NO_BODY))
		return fail(p, 400, "a CONNECT has no body");
	return true;
}

int http_head_parse(const char *data, size_t len, struct http_head *ret, struct sbx_buf *out,
		    struct http_fault *fault)
{
	struct parser p = {.head = ret, .fault = fault};
	const char *at = data, *fields;
	long end = find_end(data, len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX);
	struct piece line;

	*ret = (struct http_head){0};
	*fault = (struct http_fault){0};
	if (end < 0) {
		fail(&p, 400, "the head has a NUL byte, or a CR or LF without the other");
		return -1;
	}
	if (end == 0 && len >= HTTP_HEAD_MAX) {
		fail(&p, 431, "the head is larger than 16 KiB");
		return -1;
	}
	if (end == 0)
		return 0;
	ret->size = (size_t)end;
	line = next_line(&at);
	fields = at;
	if (!parse_request_line(&p, line) || !parse_fields(&p, fields, data + end - 2))
		return -1;
	if (!ret->is_connect)
		write_head(&p, fields, data + end - 2, out);
	if (out->failed) {
		fail(&p, 431, "the head is larger than 16 KiB");
		return -1;
	}
	return 1;
}
