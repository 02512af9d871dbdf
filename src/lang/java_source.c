/* SPDX-License-Identifier: MIT */
#include "lang/java_source.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- words and signs ---- */

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_SIGN };

struct token {
	enum token_kind kind;
	const char *at; /* of a sign: the sign */
	size_t len;
};

struct lexer {
	const char *at, *end;
};

static bool starts_with(const struct lexer *x, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(x->end - x->at) >= len && memcmp(x->at, text, len) == 0;
}

/* Go behind the next `close`, or to the end. A backslash hides what follows it in literals. */
static void skip_past(struct lexer *x, const char *close, bool escapes)
{
	size_t len = strlen(close);

	while (x->at < x->end) {
		if (escapes && *x->at == '\\') {
			x->at += x->end - x->at > 1 ? 2 : 1;
			continue;
		}
		if (starts_with(x, close)) {
			x->at += len;
			return;
		}
		x->at++;
	}
}

/* A literal that is not closed on its line is an error of the program; it must not eat the rest. */
static void skip_literal(struct lexer *x, char quote)
{
	for (x->at++; x->at < x->end && *x->at != '\n'; x->at++) {
		if (*x->at == quote) {
			x->at++;
			return;
		}
		if (*x->at == '\\' && x->end - x->at > 1)
			x->at++;
	}
}

/* Skip one comment or literal; false when none starts here. */
static bool skip_opaque(struct lexer *x)
{
	if (starts_with(x, "//")) {
		skip_past(x, "\n", false);
	} else if (starts_with(x, "/*")) {
		x->at += 2;
		skip_past(x, "*/", false);
	} else if (starts_with(x, "\"\"\"")) {
		x->at += 3;
		skip_past(x, "\"\"\"", true);
	} else if (*x->at == '"' || *x->at == '\'') {
		skip_literal(x, *x->at);
	} else {
		return false;
	}
	return true;
}

static bool is_word_char(char c)
{
	unsigned char u = (unsigned char)c;

	return isalnum(u) || u == '_' || u == '$' || u >= 0x80;
}

static struct token next_token(struct lexer *x)
{
	struct token t = {.kind = TOKEN_END};

	while (x->at < x->end && (isspace((unsigned char)*x->at) || skip_opaque(x))) {
		if (x->at < x->end && isspace((unsigned char)*x->at))
			x->at++;
	}
	if (x->at >= x->end)
		return t;
	t.at = x->at++;
	t.kind = is_word_char(*t.at) ? TOKEN_WORD : TOKEN_SIGN;
	while (t.kind == TOKEN_WORD && x->at < x->end && is_word_char(*x->at))
		x->at++;
	t.len = (size_t)(x->at - t.at);
	return t;
}

static bool is_word(const struct token *t, const char *text)
{
	return t->kind == TOKEN_WORD && t->len == strlen(text) && memcmp(t->at, text, t->len) == 0;
}

/* ---- types and their main methods ---- */

struct type {
	char name[128];
	bool has_main;
};

struct scan {
	struct lexer lexer;
	unsigned int braces, parens; /* how deep we are in them */
	bool is_public, is_static;   /* modifiers of what is being declared */
	struct token before, last;   /* the two words or signs before this one */
	char package[120];
	struct type current, public_type, first_with_main, first;
};

static void remember(struct type *slot, const struct type *type)
{
	if (slot->name[0] == '\0')
		*slot = *type;
}

static void begin_type(struct scan *s)
{
	struct token name = next_token(&s->lexer);

	s->current = (struct type){0};
	if (name.kind != TOKEN_WORD || name.len >= sizeof(s->current.name))
		return;
	memcpy(s->current.name, name.at, name.len);
	remember(&s->first, &s->current);
	if (s->is_public)
		remember(&s->public_type, &s->current);
	s->is_public = false;
}

static void found_main(struct scan *s)
{
	s->current.has_main = true;
	remember(&s->first_with_main, &s->current);
	if (strcmp(s->public_type.name, s->current.name) == 0)
		s->public_type.has_main = true;
}

/* `package a.b;`, whatever stands between its parts. One that is too long is left out. */
static void read_package(struct scan *s)
{
	struct token t = next_token(&s->lexer);
	size_t len = 0;

	for (; t.kind != TOKEN_END && *t.at != ';'; t = next_token(&s->lexer)) {
		if (len + t.len >= sizeof(s->package)) {
			len = 0;
			break;
		}
		memcpy(s->package + len, t.at, t.len);
		len += t.len;
	}
	s->package[len] = '\0';
}

static void take_word(struct scan *s, const struct token *t)
{
	if (s->parens > 0)
		return;
	if (s->braces == 1 && is_word(t, "static"))
		s->is_static = true;
	if (s->braces > 0)
		return;
	if (is_word(t, "package"))
		read_package(s);
	else if (is_word(t, "public"))
		s->is_public = true;
	else if (is_word(t, "class") || is_word(t, "interface") || is_word(t, "enum") ||
		 is_word(t, "record"))
		begin_type(s);
}

static void take_sign(struct scan *s, char sign)
{
	bool is_main = s->braces == 1 && s->parens == 0 && s->is_static &&
		       is_word(&s->before, "void") && is_word(&s->last, "main");

	if (sign == '(' && is_main && s->current.name[0] != '\0')
		found_main(s);
	if (sign == '(')
		s->parens++;
	else if (sign == ')' && s->parens > 0)
		s->parens--;
	else if (sign == '{')
		s->braces++;
	else if (sign == '}' && s->braces > 0)
		s->braces--;
	if (sign == '{' || sign == '}' || sign == ';')
		s->is_public = s->is_static = false;
}

static void scan_source(struct scan *s)
{
	struct token t = next_token(&s->lexer);

	for (; t.kind != TOKEN_END; t = next_token(&s->lexer)) {
		if (t.kind == TOKEN_WORD)
			take_word(s, &t);
		else
			take_sign(s, *t.at);
		s->before = s->last;
		s->last = t;
	}
}

bool sbx_java_inspect(const char *code, size_t len, struct sbx_lang_source *ret,
		      const char **ret_why)
{
	struct scan s = {.lexer = {.at = code, .end = code + len}};
	const struct type *start = &s.first;
	const struct type *named = &s.public_type;

	(void)ret_why;
	scan_source(&s);
	if (s.first_with_main.name[0] != '\0')
		start = &s.first_with_main;
	else if (s.public_type.name[0] != '\0')
		start = &s.public_type;
	if (s.public_type.has_main)
		start = &s.public_type;
	if (named->name[0] == '\0')
		named = &s.first_with_main;

	*ret = (struct sbx_lang_source){0};
	if (named->name[0] != '\0')
		snprintf(ret->file_name, sizeof(ret->file_name), "%s.java", named->name);
	snprintf(ret->main, sizeof(ret->main), "%s%s%s", s.package, s.package[0] ? "." : "",
		 start->name[0] ? start->name : "Main");
	return true;
}
