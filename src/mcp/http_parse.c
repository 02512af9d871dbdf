/* SPDX-License-Identifier: MIT */
#include "mcp/http_parse.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Characters of a token, RFC 9110 5.6.2. */
static bool is_token(const char *text)
{
	static const char allowed[] = "!#$%&'*+-.^_`|~0123456789"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	return *text != '\0' && text[strspn(text, allowed)] == '\0';
}

static bool is_value(const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static bool is_target(const char *text)
{
	for (const char *at = text; *at != '\0'; at++) {
		if (*at <= 0x20 || *at >= 0x7f)
			return false;
	}
	return *text != '\0';
}

/* Cut the next line off, or NULL when there is none. */
static char *next_line(char **at)
{
	char *line = *at, *end = strstr(line, "\r\n");

	if (end == NULL)
		return NULL;
	*end = '\0';
	*at = end + 2;
	return line;
}

/* Cut a word off that a single space ends. */
static char *next_word(char **at)
{
	char *word = *at, *end = strchr(word, ' ');

	if (end == NULL)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return word;
}

static enum http_method method_of(const char *name)
{
	static const struct {
		const char *name;
		enum http_method method;
	} rows[] = {
		{"GET", HTTP_GET},
		{"POST", HTTP_POST},
		{"DELETE", HTTP_DELETE},
		{"OPTIONS", HTTP_OPTIONS},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].method;
	}
	return HTTP_OTHER;
}

static int parse_request_line(char *line, struct http_head *head)
{
	char *method = next_word(&line), *target = method ? next_word(&line) : NULL;

	if (target == NULL || !is_token(method) || !is_target(target))
		return 400;
	if (strncmp(line, "HTTP/", 5) != 0)
		return 400;
	if (strcmp(line, "HTTP/1.1") != 0 && strcmp(line, "HTTP/1.0") != 0)
		return 505;
	head->minor = (unsigned int)(line[7] - '0');
	head->method = method_of(method);
	target[strcspn(target, "?")] = '\0';
	head->path = target;
	return 0;
}

/* What decides something must not be said twice: others on the way may read the other one. */
static bool is_single(const char *name)
{
	static const char *const names[] = {
		"Host",		 "Content-Length", "Transfer-Encoding", "Content-Type",
		"Authorization", "Origin",	   "Mcp-Session-Id",	"MCP-Protocol-Version",
		"Mcp-Method",	 "Mcp-Name",	   "Last-Event-ID",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcasecmp(names[i], name) == 0)
			return true;
	}
	return strncasecmp(name, "Mcp-Param-", strlen("Mcp-Param-")) == 0;
}

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t");
	len = strlen(text);
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		text[--len] = '\0';
	return text;
}

static int parse_field(char *line, struct http_head *head)
{
	char *colon = strchr(line, ':');

	if (head->field_count == HTTP_FIELDS_MAX)
		return 431;
	if (colon == NULL)
		return 400;
	*colon = '\0';
	/* A space before the colon, and a folded line, are no token. */
	if (!is_token(line) || !is_value(colon + 1))
		return 400;
	if (is_single(line) && http_head_find(head, line) != NULL)
		return 400;
	head->fields[head->field_count++] = (struct http_field){line, trim(colon + 1)};
	return 0;
}

static bool parse_length(const char *text, size_t *ret)
{
	size_t value = 0;

	if (*text == '\0' || strlen(text) > 15)
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (size_t)(*text - '0');
	}
	*ret = value;
	return true;
}

static int read_framing(struct http_head *head)
{
	const char *length = http_head_find(head, "Content-Length");
	const char *encoding = http_head_find(head, "Transfer-Encoding");

	if (encoding != NULL && (length != NULL || head->minor == 0))
		return 400;
	if (encoding != NULL && strcasecmp(encoding, "chunked") != 0)
		return 501;
	head->chunked = encoding != NULL;
	return length != NULL && !parse_length(length, &head->length) ? 400 : 0;
}

/* Whether a list of words with commas between them has this one. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (list != NULL && *list != '\0') {
		list += strspn(list, " \t,");
		if (strncasecmp(list, word, len) == 0 && strchr(" \t,", list[len]) != NULL)
			return true;
		list += strcspn(list, ",");
	}
	return false;
}

static void read_connection(struct http_head *head)
{
	const char *connection = http_head_find(head, "Connection");
	const char *expect = http_head_find(head, "Expect");

	head->keep_alive = head->minor >= 1 && !has_word(connection, "close");
	head->expects_continue =
		head->minor >= 1 && expect != NULL && strcasecmp(expect, "100-continue") == 0;
}

int http_head_parse(char *text, size_t len, struct http_head *ret)
{
	char *at = text, *line;
	int status;

	*ret = (struct http_head){0};
	if (memchr(text, '\0', len) != NULL)
		return 400;
	line = next_line(&at);
	status = line == NULL ? 400 : parse_request_line(line, ret);
	while (status == 0 && (line = next_line(&at)) != NULL && *line != '\0')
		status = parse_field(line, ret);
	if (status == 0)
		status = read_framing(ret);
	if (status != 0)
		return status;
	if (ret->minor >= 1 && http_head_find(ret, "Host") == NULL)
		return 400;
	read_connection(ret);
	return 0;
}

const char *http_head_find(const struct http_head *head, const char *name)
{
	for (size_t i = 0; i < head->field_count; i++) {
		if (strcasecmp(head->fields[i].name, name) == 0)
			return head->fields[i].value;
	}
	return NULL;
}

/* A range is a type, a family of types, or all of them. */
static bool range_has(const char *range, size_t len, const char *type)
{
	size_t family = strcspn(type, "/") + 1;

	if (len == 3 && strncmp(range, "*/*", 3) == 0)
		return true;
	if (len == family + 1 && range[family] == '*')
		return strncasecmp(range, type, family) == 0;
	return len == strlen(type) && strncasecmp(range, type, len) == 0;
}

/* q=0, q=0.0 … say that a type is not wanted. */
static bool is_refused(const char *parameters, size_t len)
{
	const char *end = parameters + len;

	for (const char *at = parameters; at < end; at++) {
		if ((at[0] == 'q' || at[0] == 'Q') && at + 1 < end && at[1] == '=' &&
		    (at == parameters || strchr("; \t", at[-1]) != NULL))
			return strtod(at + 2, NULL) == 0;
	}
	return false;
}

static bool list_accepts(const char *list, const char *type)
{
	while (*list != '\0') {
		size_t all, range;

		list += strspn(list, " \t,");
		all = strcspn(list, ",");
		range = strcspn(list, ",; \t");
		if (range_has(list, range, type) && !is_refused(list + range, all - range))
			return true;
		list += all;
	}
	return false;
}

bool http_head_accepts(const struct http_head *head, const char *type)
{
	bool any = false;

	for (size_t i = 0; i < head->field_count; i++) {
		if (strcasecmp(head->fields[i].name, "Accept") != 0)
			continue;
		any = true;
		if (list_accepts(head->fields[i].value, type))
			return true;
	}
	return !any;
}

bool http_head_is_type(const struct http_head *head, const char *type)
{
	const char *value = http_head_find(head, "Content-Type");
	size_t len = strlen(type);

	return value != NULL && strncasecmp(value, type, len) == 0 &&
	       strchr("; \t", value[len]) != NULL;
}
