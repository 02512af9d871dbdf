/* SPDX-License-Identifier: MIT */
#include "cli/toml_scan.h"

#include "cli/splice.h"
#include "cli/trouble.h"

#include <string.h>

struct cursor {
	const char *in;
	size_t len, at;
	const char *const *wanted;
	const char *problem; /* what is wrong at `at` */
};

/* Past the end there are only NULs; there are none in the text. */
static char peek(const struct cursor *c)
{
	return c->at < c->len ? c->in[c->at] : '\0';
}

static bool starts(const struct cursor *c, const char *with)
{
	size_t len = strlen(with);

	return c->len - c->at >= len && memcmp(c->in + c->at, with, len) == 0;
}

static bool take(struct cursor *c, const char *what)
{
	if (!starts(c, what))
		return false;
	c->at += strlen(what);
	return true;
}

static bool fail(struct cursor *c, const char *problem)
{
	c->problem = problem;
	return false;
}

static bool is_one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

static bool is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

static void skip_blanks(struct cursor *c)
{
	while (is_one_of(peek(c), " \t"))
		c->at++;
}

static bool take_line_end(struct cursor *c)
{
	return take(c, "\n") || take(c, "\r\n");
}

static void skip_comment(struct cursor *c)
{
	while (c->at < c->len && peek(c) != '\n' && !starts(c, "\r\n"))
		c->at++;
}

/* White space, line ends and comments, as they may stand in arrays. */
static void skip_lines(struct cursor *c)
{
	for (;;) {
		skip_blanks(c);
		if (peek(c) == '#')
			skip_comment(c);
		else if (!take_line_end(c))
			return;
	}
}

/* ---- strings ---- */

static bool take_string(struct cursor *c, char quote)
{
	c->at++;
	while (c->at < c->len && peek(c) != quote && peek(c) != '\n')
		c->at += peek(c) == '\\' && quote == '"' && c->at + 1 < c->len ? 2 : 1;
	if (peek(c) != quote)
		return fail(c, "a text has no end");
	c->at++;
	return true;
}

/* Two quotes more may stand in front of the closing ones: they belong to the text. */
static bool take_long_string(struct cursor *c, const char *quotes)
{
	c->at += 3;
	while (c->at < c->len && !starts(c, quotes))
		c->at += peek(c) == '\\' && quotes[0] == '"' && c->at + 1 < c->len ? 2 : 1;
	if (!take(c, quotes))
		return fail(c, "a text of many lines has no end");
	for (int i = 0; i < 2 && peek(c) == quotes[0]; i++)
		c->at++;
	return true;
}

/* ---- keys ---- */

/* The character behind "\uXXXX" when it is ASCII, else one that no wanted name has. */
static char escaped(const char *digits, size_t len)
{
	char text[5] = "";
	long value;

	if (len < 4)
		return '\x7f';
	memcpy(text, digits, 4);
	value = strtol(text, NULL, 16);
	return value > 0 && value < 0x7f ? (char)value : '\x7f';
}

/* Is the part of a key that stands in text[0..len), with its quotes, this name? */
static bool is_part(const char *text, size_t len, const char *name)
{
	char quote = is_one_of(text[0], "\"'") ? text[0] : '\0';
	size_t end = quote ? len - 1 : len, i = quote ? 1 : 0;

	while (i < end && *name != '\0') {
		char c = text[i++];

		if (quote == '"' && c == '\\' && i < end) {
			bool is_unit = text[i] == 'u';

			c = is_unit ? escaped(text + i + 1, end - i - 1) : '\x7f';
			i += is_unit && end - i > 4 ? 5 : 1;
		}
		if (c != *name++)
			return false;
	}
	return i == end && *name == '\0';
}

static bool take_part(struct cursor *c, struct toml_path *path)
{
	size_t start = c->at;

	if (is_one_of(peek(c), "\"'")) {
		if (starts(c, "\"\"\"") || starts(c, "'''") || !take_string(c, peek(c)))
			return fail(c, "a name has no end");
	} else {
		while (is_bare(peek(c)))
			c->at++;
		if (c->at == start)
			return fail(c, "a name is missing");
	}
	if (path->parts < 2 && path->matched == path->parts &&
	    is_part(c->in + start, c->at - start, c->wanted[path->parts]))
		path->matched++;
	path->parts++;
	return true;
}

static bool take_path(struct cursor *c, struct toml_path *path)
{
	do {
		skip_blanks(c);
		if (!take_part(c, path))
			return false;
		skip_blanks(c);
	} while (take(c, "."));
	return true;
}

/* ---- values ---- */

static bool take_value(struct cursor *c, int depth);

static bool take_array(struct cursor *c, int depth)
{
	c->at++;
	for (;;) {
		skip_lines(c);
		if (take(c, "]"))
			return true;
		if (!take_value(c, depth + 1))
			return false;
		skip_lines(c);
		if (!take(c, ",") && peek(c) != ']')
			return fail(c, "a list has no end");
	}
}

static bool take_inline_table(struct cursor *c, int depth)
{
	struct toml_path ignored = {0};

	c->at++;
	for (;;) {
		skip_lines(c);
		if (take(c, "}"))
			return true;
		if (!take_path(c, &ignored))
			return false;
		if (!take(c, "="))
			return fail(c, "'=' is missing");
		skip_lines(c);
		if (!take_value(c, depth + 1))
			return false;
		skip_lines(c);
		if (!take(c, ",") && peek(c) != '}')
			return fail(c, "an inline table has no end");
	}
}

/* A number, true, false, or a date, which may have one space before its time. */
static bool take_scalar(struct cursor *c)
{
	size_t start = c->at;

	while (is_bare(peek(c)) || is_one_of(peek(c), "+.:") ||
	       (c->at - start == 10 && c->in[start + 4] == '-' && peek(c) == ' ' &&
		c->at + 1 < c->len && c->in[c->at + 1] >= '0' && c->in[c->at + 1] <= '9'))
		c->at++;
	if (c->at == start)
		return fail(c, "a value is missing");
	if (!is_one_of(c->in[start], "+-0123456789") &&
	    !is_part(c->in + start, c->at - start, "true") &&
	    !is_part(c->in + start, c->at - start, "false") &&
	    !is_part(c->in + start, c->at - start, "inf") &&
	    !is_part(c->in + start, c->at - start, "nan")) {
		c->at = start;
		return fail(c, "a value is neither text in quotes, number, date, true nor false");
	}
	return true;
}

static bool take_value(struct cursor *c, int depth)
{
	if (depth > TOML_DEPTH_MAX)
		return fail(c, "it is nested too deeply");
	if (starts(c, "\"\"\""))
		return take_long_string(c, "\"\"\"");
	if (starts(c, "'''"))
		return take_long_string(c, "'''");
	switch (peek(c)) {
	case '"':
	case '\'':
		return take_string(c, peek(c));
	case '[':
		return take_array(c, depth);
	case '{':
		return take_inline_table(c, depth);
	default:
		return take_scalar(c);
	}
}

/* ---- statements ---- */

static bool take_header(struct cursor *c, struct toml_statement *s)
{
	s->is_header = true;
	s->is_array = take(c, "[[");
	if (!s->is_array)
		c->at++;
	if (!take_path(c, &s->path))
		return false;
	return take(c, s->is_array ? "]]" : "]") || fail(c, "a header has no end");
}

static bool take_setting(struct cursor *c, struct toml_statement *s)
{
	if (!take_path(c, &s->path))
		return false;
	if (!take(c, "="))
		return fail(c, "'=' is missing");
	skip_blanks(c);
	return take_value(c, 0);
}

static bool take_rest_of_line(struct cursor *c)
{
	skip_blanks(c);
	if (peek(c) == '#')
		skip_comment(c);
	return take_line_end(c) || c->at == c->len || fail(c, "something stands behind the value");
}

/* header: the path of the table that settings are in. */
static bool take_statement(struct cursor *c, struct toml_path *header, struct toml_statement *ret)
{
	struct toml_statement s = {.start = c->at};
	bool good;

	skip_blanks(c);
	if (peek(c) == '[') {
		good = take_header(c, &s);
		*header = s.path;
	} else {
		s.path = *header;
		good = take_setting(c, &s);
	}
	good = good && take_rest_of_line(c);
	s.end = c->at;
	*ret = s;
	return good;
}

/* Blank lines and lines with a comment only. */
static void skip_empty_lines(struct cursor *c)
{
	for (;;) {
		size_t line = c->at;

		skip_blanks(c);
		if (peek(c) == '#')
			skip_comment(c);
		if (!take_line_end(c)) {
			if (c->at < c->len)
				c->at = line;
			return;
		}
	}
}

static int append(struct toml_scan *scan, const struct toml_statement *s, struct sbx_error *err)
{
	if (scan->count == scan->capacity) {
		size_t capacity = scan->capacity ? scan->capacity * 2 : 64;
		struct toml_statement *grown;

		if (capacity > TOML_STATEMENTS_MAX)
			return cli_fail(err, SBX_E_LIMIT, "it has more than %u settings",
					TOML_STATEMENTS_MAX);
		grown = realloc(scan->list, capacity * sizeof(*grown));
		if (grown == NULL)
			return cli_fail(err, SBX_E_SYSTEM, "out of memory");
		scan->list = grown;
		scan->capacity = capacity;
	}
	scan->list[scan->count++] = *s;
	return 0;
}

static int scan_all(struct cursor *c, struct toml_scan *scan, struct sbx_error *err)
{
	struct toml_path header = {0};
	unsigned int line = 1;
	size_t counted = 0;
	int r = 0;

	take(c, "\xef\xbb\xbf");
	for (skip_empty_lines(c); r == 0 && c->at < c->len; skip_empty_lines(c)) {
		struct toml_statement s;
		size_t start = c->at;

		line += splice_line(c->in + counted, start - counted) - 1;
		counted = start;
		if (!take_statement(c, &header, &s))
			return cli_fail(err, SBX_E_INVALID, "line %u: no valid TOML: %s",
					splice_line(c->in, c->at), c->problem);
		s.line = line;
		r = append(scan, &s, err);
	}
	return r;
}

int toml_scan(const struct text *in, const char *const wanted[2], struct toml_scan *ret,
	      struct sbx_error *err)
{
	struct cursor c = {.in = in->data, .len = in->len, .wanted = wanted};
	const char *zero = memchr(in->data, '\0', in->len);
	struct toml_scan scan = {0};
	int r;

	if (zero != NULL)
		return cli_fail(err, SBX_E_INVALID, "line %u: no valid TOML: there is a zero byte",
				splice_line(in->data, (size_t)(zero - in->data)));
	r = scan_all(&c, &scan, err);
	if (r < 0) {
		toml_scan_done(&scan);
		return r;
	}
	*ret = scan;
	return 0;
}

void toml_scan_done(struct toml_scan *scan)
{
	free(scan->list);
	*scan = (struct toml_scan){0};
}
