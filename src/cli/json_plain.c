/* SPDX-License-Identifier: MIT */
#include "cli/json_plain.h"

#include "cli/splice.h"
#include "cli/trouble.h"

#include <stdint.h>
#include <string.h>

#define NO_COMMA SIZE_MAX

struct plainer {
	const char *in;
	char *out;
	size_t len, at;
	size_t comma;	/* the last one, while nothing follows it, or NO_COMMA */
	bool has_value; /* something stands before this place in its object or array */
	unsigned int depth;
};

static bool starts(const struct plainer *p, const char *with)
{
	size_t len = strlen(with);

	return p->len - p->at >= len && memcmp(p->in + p->at, with, len) == 0;
}

static void blank(struct plainer *p)
{
	if (p->in[p->at] != '\n' && p->in[p->at] != '\r')
		p->out[p->at] = ' ';
	p->at++;
}

static void line_comment(struct plainer *p)
{
	while (p->at < p->len && p->in[p->at] != '\n')
		blank(p);
}

static bool block_comment(struct plainer *p)
{
	blank(p);
	blank(p);
	while (p->at < p->len && !starts(p, "*/"))
		blank(p);
	if (p->at == p->len)
		return false;
	blank(p);
	blank(p);
	return true;
}

/* The value of "\uXXXX" at this offset, or -1. */
static int escaped_unit(const struct plainer *p, size_t at)
{
	int value = 0;

	if (p->len < 6 || at > p->len - 6 || p->in[at] != '\\' || p->in[at + 1] != 'u')
		return -1;
	for (size_t i = at + 2; i < at + 6; i++) {
		const char *digits = "0123456789abcdefABCDEF", *digit;

		if (p->in[i] == '\0' || (digit = strchr(digits, p->in[i])) == NULL)
			return -1;
		value = value * 16 + (int)(digit - digits) - (digit - digits > 15 ? 6 : 0);
	}
	return value;
}

static bool is_high(int unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(int unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

static void escape(struct plainer *p)
{
	int unit = escaped_unit(p, p->at);

	if (is_high(unit) && is_low(escaped_unit(p, p->at + 6))) {
		p->at += 12;
		return;
	}
	if (unit == 0 || is_high(unit) || is_low(unit))
		p->out[p->at] = '_';
	p->at += p->len - p->at > 1 ? 2 : 1;
}

static bool string(struct plainer *p)
{
	p->at++;
	while (p->at < p->len && p->in[p->at] != '"' && p->in[p->at] != '\n') {
		if (p->in[p->at] == '\\')
			escape(p);
		else
			p->at++;
	}
	if (p->at >= p->len || p->in[p->at] == '\n')
		return false;
	p->at++;
	return true;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* One byte that is no part of a string or comment. */
static void structure(struct plainer *p)
{
	char c = p->in[p->at];

	if (c == '{' || c == '[')
		p->depth++;
	if (c == '}' || c == ']') {
		p->depth -= p->depth > 0;
		if (p->comma != NO_COMMA)
			p->out[p->comma] = '\t';
	}
	if (!is_space(c)) {
		p->comma = c == ',' && p->has_value ? p->at : NO_COMMA;
		p->has_value = c != '{' && c != '[' && c != ',';
	}
	p->at++;
}

static bool step(struct plainer *p, const char **problem)
{
	if (p->in[p->at] == '"') {
		p->comma = NO_COMMA;
		p->has_value = true;
		*problem = "a text has no end";
		return string(p);
	}
	if (starts(p, "/*")) {
		*problem = "a comment has no end";
		return block_comment(p);
	}
	if (starts(p, "//"))
		line_comment(p);
	else
		structure(p);
	*problem = "it is nested too deeply";
	return p->depth <= JSON_DEPTH_MAX;
}

static void skip_mark(struct plainer *p)
{
	if (starts(p, "\xef\xbb\xbf")) {
		memset(p->out, ' ', 3);
		p->at = 3;
	}
}

int json_plain(const struct text *in, char **ret, struct sbx_error *err)
{
	auto_free char *out = malloc(in->len + 1);
	struct plainer p = {.in = in->data, .out = out, .len = in->len, .comma = NO_COMMA};
	const char *problem = "", *zero = memchr(in->data, '\0', in->len);

	if (out == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	if (zero != NULL) /* jansson reads over some */
		return cli_fail(err, SBX_E_INVALID, "line %u: no valid JSON: there is a zero byte",
				splice_line(in->data, (size_t)(zero - in->data)));
	memcpy(out, in->data, in->len);
	out[in->len] = '\0';
	skip_mark(&p);
	while (p.at < p.len) {
		size_t start = p.at;

		if (!step(&p, &problem))
			return cli_fail(err, SBX_E_INVALID, "line %u: no valid JSON: %s",
					splice_line(in->data, start), problem);
	}
	*ret = out;
	out = NULL;
	return 0;
}
