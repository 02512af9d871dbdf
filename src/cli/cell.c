/* SPDX-License-Identifier: MIT */
#include "cli/cell.h"

#include <ctype.h>
#include <string.h>

/* What of a language's grammar matters here. */
struct syntax {
	const char *language;
	const char *comment;	 /* to the end of the line */
	bool block_comments;	 /* C's */
	const char *quotes;	 /* of strings */
	const char *long_quotes; /* of those that may go over lines */
	bool triples;		 /* three quotes make a string of several lines */
	bool indents;		 /* blocks are lines that begin with blanks: Python */
	bool ends;		 /* blocks end with "end": Ruby */
	const char *operators;	 /* as the last character of a line: there is more to come */
};

static const struct syntax syntaxes[] = {
	{"python", "#", false, "'\"", "", true, true, false, "\\"},
	{"r", "#", false, "'\"`", "'\"`", false, false, false, "+-*/,|>%~=&<"},
	{"javascript", "//", true, "'\"`", "`", false, false, false, "=,&|?.>"},
	{"ruby", "#", false, "'\"`", "'\"`", false, false, true, ",.&=\\"},
	{"java", "//", true, "'\"", "", true, false, false, "=,&|?."},
};

static const struct syntax *find_syntax(const char *language)
{
	for (size_t i = 0; i < sizeof(syntaxes) / sizeof(syntaxes[0]); i++) {
		if (strcmp(syntaxes[i].language, language) == 0)
			return &syntaxes[i];
	}
	return &syntaxes[0];
}

static bool is_in(const char *set, char c)
{
	return c != '\0' && strchr(set, c) != NULL;
}

/* ---- a walk over the text ---- */

struct walk {
	const struct syntax *syntax;
	const char *p, *end;
	int depth;	  /* of brackets */
	int blocks;	  /* that wait for "end" */
	bool in_string;	  /* the text ended in one of several lines */
	bool in_block;	  /* Python: a line ended with ':' or began with blanks */
	char last;	  /* the last character that means something, of the line so far */
	bool line_begins; /* nothing that means something was in it yet */
	bool loops;	  /* Ruby: the line's "do" belongs to its while, until or for */
};

static bool has(const struct walk *w, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(w->end - w->p) >= len && memcmp(w->p, text, len) == 0;
}

static void skip_line(struct walk *w)
{
	const char *end = memchr(w->p, '\n', (size_t)(w->end - w->p));

	w->p = end ? end : w->end;
}

static void skip_comment(struct walk *w)
{
	const char *end = memmem(w->p + 2, (size_t)(w->end - w->p) - 2, "*/", 2);

	w->in_string = end == NULL;
	w->p = end ? end + 2 : w->end;
}

static void skip_triple(struct walk *w, char quote)
{
	for (w->p += 3; w->p < w->end; w->p++) {
		if (*w->p == '\\' && w->p + 1 < w->end) {
			w->p++;
		} else if (w->end - w->p >= 3 && w->p[0] == quote && w->p[1] == quote &&
			   w->p[2] == quote) {
			w->p += 3;
			return;
		}
	}
	w->in_string = true;
}

/* A string that may not go over the line's end and does is a mistake; let it be told. */
static void skip_string(struct walk *w, char quote)
{
	bool is_long = is_in(w->syntax->long_quotes, quote);

	for (w->p++; w->p < w->end; w->p++) {
		if (*w->p == '\\' && w->p + 1 < w->end)
			w->p++;
		else if (*w->p == '\n' && !is_long)
			return;
		else if (*w->p == quote) {
			w->p++;
			return;
		}
	}
	w->in_string = is_long;
}

static void take_string(struct walk *w)
{
	char quote = *w->p;

	if (w->syntax->triples && w->end - w->p >= 3 && w->p[1] == quote && w->p[2] == quote)
		skip_triple(w, quote);
	else
		skip_string(w, quote);
	w->last = quote;
	w->line_begins = false;
}

/* ---- words of Ruby ---- */

static bool is_word(const char *word, size_t len, const char *const *list)
{
	for (; *list != NULL; list++) {
		if (strlen(*list) == len && memcmp(*list, word, len) == 0)
			return true;
	}
	return false;
}

/* "if" behind a statement is no block; "class" behind a dot, or before a colon, is a name. */
static void take_word(struct walk *w)
{
	static const char *const openers[] = {"def",	"class", "module", "begin", "case", "if",
					      "unless", "while", "until",  "for",   NULL};
	static const char *const loops[] = {"while", "until", "for", NULL};
	static const char *const ending[] = {"end", NULL}, *const doing[] = {"do", NULL};
	const char *word = w->p;
	bool begins = w->line_begins || w->last == '=' || w->last == ';' || w->last == '(';
	size_t len = 0;

	while (word + len < w->end && (isalnum((unsigned char)word[len]) || word[len] == '_'))
		len++;
	w->p += len;
	if (w->syntax->ends && w->last != '.' && w->last != ':' &&
	    (w->p == w->end || *w->p != ':')) {
		if (begins && is_word(word, len, openers)) {
			w->blocks++;
			w->loops |= is_word(word, len, loops);
		}
		if (is_word(word, len, doing) && !w->loops)
			w->blocks++;
		w->blocks -= is_word(word, len, ending) && w->blocks > 0;
	}
	w->last = 'a';
	w->line_begins = false;
}

/* ---- lines ---- */

static void end_line(struct walk *w)
{
	if (w->syntax->indents && w->depth == 0 && w->last == ':')
		w->in_block = true;
	w->p++;
	w->line_begins = true;
	w->loops = false;
	if (w->syntax->indents && w->depth == 0 && w->p < w->end && (*w->p == ' ' || *w->p == '\t'))
		w->in_block = true;
}

static void take_other(struct walk *w)
{
	char c = *w->p++;

	if (isspace((unsigned char)c))
		return;
	w->depth += is_in("([{", c);
	w->depth -= is_in(")]}", c) && w->depth > 0;
	w->in_block |= w->syntax->indents && w->line_begins && c == '@';
	w->last = c;
	w->line_begins = false;
}

static void step(struct walk *w)
{
	unsigned char c = (unsigned char)*w->p;

	if (c == '\n')
		end_line(w);
	else if (has(w, w->syntax->comment))
		skip_line(w);
	else if (w->syntax->block_comments && has(w, "/*"))
		skip_comment(w);
	else if (is_in(w->syntax->quotes, (char)c))
		take_string(w);
	else if (isalnum(c) || c == '_')
		take_word(w);
	else
		take_other(w);
}

/* The last line is empty, but for blanks. */
static bool ends_empty(const char *text, size_t len)
{
	size_t n = len > 0 ? len - 1 : 0;

	while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	return n == 0 || text[n - 1] == '\n';
}

enum cell_state cell_look(const char *language, const char *text, size_t len)
{
	struct walk w = {
		.syntax = find_syntax(language), .p = text, .end = text + len, .line_begins = true};

	while (w.p < w.end)
		step(&w);
	if (w.in_string)
		return CELL_STRING;
	if (w.depth > 0 || w.blocks > 0)
		return CELL_OPEN;
	if (is_in(w.syntax->operators, w.last) && !ends_empty(text, len))
		return CELL_OPEN;
	return w.in_block && !ends_empty(text, len) ? CELL_BLOCK : CELL_WHOLE;
}

bool cell_is_border(const char *line)
{
	size_t mark = line[0] == '#' ? 1 : strncmp(line, "//", 2) == 0 ? 2 : 0;

	if (mark == 0)
		return false;
	line += mark;
	line += strspn(line, " \t");
	return strncmp(line, "%%", 2) == 0;
}

const char *cell_comment(const char *language)
{
	return find_syntax(language)->comment;
}
