/* SPDX-License-Identifier: MIT */
#include "lang/java_source.h"

#include <stdio.h>
#include <string.h>

struct lexer {
	const char *at, *end;
	char token[128]; /* an identifier, or one character; "" at the end */
};

static bool is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
	       (c & 0x80) != 0;
}

static bool is_name_part(char c)
{
	return is_name_start(c) || (c >= '0' && c <= '9');
}

static bool looks_at(const struct lexer *l, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(l->end - l->at) >= len && memcmp(l->at, text, len) == 0;
}

/* Behind the next place of this text, or at the end. */
static void skip_past(struct lexer *l, const char *text)
{
	while (l->at < l->end && !looks_at(l, text))
		l->at++;
	l->at += l->at < l->end ? strlen(text) : 0;
}

/* A literal in these quotes; escapes hide a quote, and a line's end ends a one-line literal. */
static void skip_literal(struct lexer *l, const char *quote)
{
	bool one_line = quote[1] == '\0';

	l->at += strlen(quote);
	while (l->at < l->end && !looks_at(l, quote)) {
		if (one_line && *l->at == '\n')
			return;
		l->at += *l->at == '\\' && l->at + 1 < l->end ? 2 : 1;
	}
	l->at += l->at < l->end ? strlen(quote) : 0;
}

/* Skip what is no token; false when a token starts here. */
static bool skip_one(struct lexer *l)
{
	if (looks_at(l, "//"))
		skip_past(l, "\n");
	else if (looks_at(l, "/*"))
		l->at += 2, skip_past(l, "*/");
	else if (looks_at(l, "\"\"\""))
		skip_literal(l, "\"\"\"");
	else if (*l->at == '"')
		skip_literal(l, "\"");
	else if (*l->at == '\'')
		skip_literal(l, "'");
	else if (*l->at == ' ' || *l->at == '\t' || *l->at == '\r' || *l->at == '\n')
		l->at++;
	else
		return false;
	return true;
}

static void next_token(struct lexer *l)
{
	size_t n = 0;

	while (l->at < l->end && skip_one(l))
		;
	if (l->at < l->end && !is_name_start(*l->at))
		l->token[n++] = *l->at++;
	else
		while (l->at < l->end && is_name_part(*l->at)) {
			if (n < sizeof(l->token) - 1)
				l->token[n++] = *l->at;
			l->at++;
		}
	l->token[n] = '\0';
}

static bool is(const struct lexer *l, const char *token)
{
	return strcmp(l->token, token) == 0;
}

static bool starts_type(const struct lexer *l)
{
	return is(l, "class") || is(l, "interface") || is(l, "enum") || is(l, "record");
}

/* What was found so far. */
struct types {
	char package[128];
	char first[128], public_one[128], with_main[128];
	bool public_has_main;
};

static void read_package(struct lexer *l, struct types *t)
{
	size_t n = 0;

	for (next_token(l); !is(l, ";") && !is(l, ""); next_token(l)) {
		size_t len = strlen(l->token);

		if (n + len < sizeof(t->package)) {
			memcpy(t->package + n, l->token, len);
			n += len;
		}
	}
	t->package[n] = '\0';
}

/* The body of a type, to its closing brace: whether it declares `void main(` itself. */
static bool body_has_main(struct lexer *l)
{
	char before[2][128] = {"", ""};
	bool found = false;
	int depth = 0;

	while (!is(l, "{") && !is(l, ";") && !is(l, ""))
		next_token(l);
	do {
		if (is(l, "{"))
			depth++;
		else if (is(l, "}"))
			depth--;
		else if (is(l, "(") && depth == 1 && strcmp(before[1], "main") == 0 &&
			 strcmp(before[0], "void") == 0)
			found = true;
		memcpy(before[0], before[1], sizeof(before[0]));
		memcpy(before[1], l->token, sizeof(before[1]));
		if (depth > 0)
			next_token(l);
	} while (depth > 0 && !is(l, ""));
	return found;
}

static void read_type(struct lexer *l, struct types *t, bool is_public)
{
	char name[128];
	bool has_main;

	next_token(l);
	if (!is_name_start(l->token[0]))
		return;
	memcpy(name, l->token, sizeof(name));
	has_main = body_has_main(l);

	if (t->first[0] == '\0')
		memcpy(t->first, name, sizeof(name));
	if (is_public && t->public_one[0] == '\0') {
		memcpy(t->public_one, name, sizeof(name));
		t->public_has_main = has_main;
	}
	if (has_main && t->with_main[0] == '\0')
		memcpy(t->with_main, name, sizeof(name));
}

static void read_file(struct lexer *l, struct types *t)
{
	bool is_public = false;

	for (next_token(l); !is(l, ""); next_token(l)) {
		if (is(l, "package")) {
			read_package(l, t);
		} else if (starts_type(l)) {
			read_type(l, t, is_public);
			is_public = false;
		} else if (is(l, "public")) {
			is_public = true;
		} else if (is(l, ";")) {
			is_public = false;
		}
	}
}

bool sbx_java_inspect(const char *code, size_t len, struct sbx_lang_source *ret,
		      const char **ret_why)
{
	struct lexer l = {.at = code, .end = code + len};
	struct types t = {0};
	const char *main_type, *file;

	*ret_why = NULL;
	read_file(&l, &t);
	main_type = t.public_has_main ? t.public_one : t.with_main;
	if (main_type[0] == '\0')
		main_type = t.first[0] ? t.first : "Main";
	file = t.public_one[0] ? t.public_one : main_type;
	snprintf(ret->file_name, sizeof(ret->file_name), "%s.java", file);
	snprintf(ret->main, sizeof(ret->main), "%s%s%s", t.package[0] ? t.package : "",
		 t.package[0] ? "." : "", main_type);
	return true;
}
