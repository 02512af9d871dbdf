/* SPDX-License-Identifier: MIT */
/*
 * Ours is every statement whose path begins with the place: the table's header and settings,
 * its sub-tables, and inline or dotted spellings of it. What stands together is one run. Setting
 * puts a plain table where the first run with a header was, or at the end of the file.
 */
#include "cli/splice.h"

#include "cli/toml_scan.h"
#include "cli/trouble.h"

#include <stdio.h>
#include <string.h>

struct document {
	const struct text *text;
	struct toml_scan scan;
};

struct run {
	size_t first, last; /* statements */
};

static bool is_ours(const struct toml_statement *s)
{
	return s->path.matched == 2;
}

static bool next_run(const struct toml_scan *scan, size_t from, struct run *ret)
{
	size_t i = from, last;

	while (i < scan->count && !is_ours(&scan->list[i]))
		i++;
	if (i == scan->count)
		return false;
	for (last = i; last + 1 < scan->count && is_ours(&scan->list[last + 1]); last++)
		;
	*ret = (struct run){i, last};
	return true;
}

/* ---- reading ---- */

static int fail_at(const struct toml_statement *s, const char *name, const char *what,
		   struct sbx_error *err)
{
	return cli_fail(err, SBX_E_INVALID, "line %u: '%s' %s", s->line, name, what);
}

/* Spellings that text cannot be added to or cut out of. */
static int check(const struct toml_scan *scan, const struct splice_place *place,
		 struct sbx_error *err)
{
	bool has_header = false;

	for (size_t i = 0; i < scan->count; i++) {
		const struct toml_statement *s = &scan->list[i];
		bool is_table = s->path.matched == 1 && s->path.parts == 1;
		bool is_entry = is_ours(s) && s->path.parts == 2 && s->is_header && !s->is_array;

		if (is_table && (!s->is_header || s->is_array))
			return fail_at(s, place->table, "is no plain table; write [table.name] instead",
				       err);
		if (is_entry && has_header)
			return fail_at(s, place->name, "is there twice; correct that first", err);
		has_header = has_header || is_entry;
	}
	return 0;
}

static int open_document(const struct text *in, const struct splice_place *place,
			 struct document *ret, struct sbx_error *err)
{
	const char *const wanted[2] = {place->table, place->name};
	struct document d = {.text = in};
	int r = toml_scan(in, wanted, &d.scan, err);

	if (r == 0)
		r = check(&d.scan, place, err);
	if (r < 0) {
		toml_scan_done(&d.scan);
		return r;
	}
	*ret = d;
	return 0;
}

/* ---- the table as text ---- */

/* entry has plain line ends. */
static char *make_table(const struct splice_place *place, const char *entry, const char *line_end)
{
	char *table = NULL;
	size_t size;
	FILE *f = open_memstream(&table, &size);

	if (f == NULL)
		return NULL;
	fprintf(f, "[%s.%s]%s", place->table, place->name, line_end);
	for (const char *p = entry; *p != '\0'; p++) {
		if (*p == '\n')
			fputs(line_end, f);
		else
			fputc(*p, f);
	}
	fclose(f);
	return table;
}

static bool ends_in_line_end(const struct text *in)
{
	return in->len > 0 && in->data[in->len - 1] == '\n';
}

static void drop_line_end(char *text, const char *line_end)
{
	size_t len = strlen(text), drop = strlen(line_end);

	if (len >= drop && strcmp(text + len - drop, line_end) == 0)
		text[len - drop] = '\0';
}

static bool is_empty(const struct text *in)
{
	size_t start = in->len >= 3 && memcmp(in->data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	return start == in->len;
}

/* ---- edits ---- */

/* The empty line right in front of at, or at itself. */
static size_t empty_line_before(const struct text *in, size_t at)
{
	size_t line = at;

	if (line == 0 || in->data[--line] != '\n')
		return at;
	if (line > 0 && in->data[line - 1] == '\r')
		line--;
	return line == 0 || in->data[line - 1] == '\n' ? line : at;
}

static bool is_line_end_at(const struct text *in, size_t at)
{
	return at == in->len || in->data[at] == '\n' || in->data[at] == '\r';
}

/* With the run goes the empty line above it, where another one or the end is below. */
static void cut_run(const struct document *d, const struct run *run, struct edits *edits)
{
	const struct text *in = d->text;
	size_t start = d->scan.list[run->first].start, end = d->scan.list[run->last].end;
	bool at_end = end == in->len && !ends_in_line_end(in);

	if (is_line_end_at(in, end))
		start = empty_line_before(in, start);
	/* A file without a line end at its end stays one. */
	if (at_end && start > 0 && in->data[start - 1] == '\n')
		start -= start > 1 && in->data[start - 2] == '\r' ? 2 : 1;
	edits_add(edits, start, end - start, NULL);
}

static void replace_run(const struct document *d, const struct run *run, char *table,
			const char *line_end, struct edits *edits)
{
	size_t start = d->scan.list[run->first].start, end = d->scan.list[run->last].end;

	if (end == d->text->len && !ends_in_line_end(d->text))
		drop_line_end(table, line_end);
	edits_add(edits, start, end - start, table);
}

static void append_table(const struct document *d, const char *table, const char *line_end,
			 struct edits *edits)
{
	const struct text *in = d->text;
	bool empty = is_empty(in), ends = ends_in_line_end(in);
	bool has_gap = ends && empty_line_before(in, in->len) != in->len;
	char *added = NULL;

	if (asprintf(&added, "%s%s%s", empty || ends ? "" : line_end,
		     empty || has_gap ? "" : line_end, table) < 0) {
		edits_fail(edits);
		return;
	}
	if (!empty && !ends)
		drop_line_end(added, line_end);
	edits_add(edits, in->len, 0, added);
}

static void set_entry(const struct document *d, const struct splice_place *place,
		      const char *entry, struct edits *edits)
{
	const char *line_end = splice_line_end(d->text);
	char *table = make_table(place, entry, line_end);
	bool placed = false;
	struct run run;

	if (table == NULL) {
		edits_fail(edits);
		return;
	}
	for (size_t i = 0; next_run(&d->scan, i, &run); i = run.last + 1) {
		if (placed || !d->scan.list[run.first].is_header) {
			cut_run(d, &run, edits);
			continue;
		}
		replace_run(d, &run, table, line_end, edits);
		placed = true;
	}
	if (placed)
		return; /* the table is the edit's */
	append_table(d, table, line_end, edits);
	free(table);
}

static void remove_entry(const struct document *d, struct edits *edits)
{
	struct run run;

	for (size_t i = 0; next_run(&d->scan, i, &run); i = run.last + 1)
		cut_run(d, &run, edits);
}

/* ---- proof ---- */

static size_t trimmed(const struct document *d, const struct toml_statement *s)
{
	size_t end = s->end;

	while (end > s->start && (d->text->data[end - 1] == '\n' || d->text->data[end - 1] == '\r'))
		end--;
	return end - s->start;
}

static const struct toml_statement *next_other(const struct document *d, size_t *i)
{
	while (*i < d->scan.count && is_ours(&d->scan.list[*i]))
		++*i;
	return *i < d->scan.count ? &d->scan.list[(*i)++] : NULL;
}

/* Are the statements that are not ours the same, in the same tables? */
static bool have_same_others(const struct document *a, const struct document *b)
{
	const struct toml_statement *s, *t;
	size_t i = 0, j = 0;

	do {
		s = next_other(a, &i);
		t = next_other(b, &j);
		if (s == NULL || t == NULL)
			return s == t;
	} while (s->path.parts == t->path.parts && s->path.matched == t->path.matched &&
		 trimmed(a, s) == trimmed(b, t) &&
		 memcmp(a->text->data + s->start, b->text->data + t->start, trimmed(a, s)) == 0);
	return false;
}

/* Is all that is ours exactly the wanted table? NULL: nothing is wanted. */
static bool has_only(const struct document *d, const char *table)
{
	size_t start, end;
	struct run run, more;

	if (!next_run(&d->scan, 0, &run) || table == NULL)
		return table == NULL && !next_run(&d->scan, 0, &run);
	if (next_run(&d->scan, run.last + 1, &more))
		return false;
	start = d->scan.list[run.first].start;
	end = d->scan.list[run.last].start + trimmed(d, &d->scan.list[run.last]);
	return strncmp(table, d->text->data + start, end - start) == 0 &&
	       strspn(table + (end - start), "\r\n") == strlen(table + (end - start));
}

static int prove(const struct document *old, const struct splice_place *place, const char *entry,
		 const struct text *text, struct sbx_error *err)
{
	auto_free char *table =
		entry ? make_table(place, entry, splice_line_end(old->text)) : NULL;
	struct document d;
	bool good;

	if (open_document(text, place, &d, err) < 0)
		return cli_prefix(err, "the change would break the file");
	good = have_same_others(old, &d) && has_only(&d, table);
	toml_scan_done(&d.scan);
	return good ? 0
		    : cli_fail(err, SBX_E_PROTOCOL,
			       "the change would not be what was asked for; please report this");
}

/* entry NULL: it was removed. */
static int finish(const struct document *d, const struct splice_place *place, const char *entry,
		  struct edits *edits, struct text *ret, struct sbx_error *err)
{
	struct text text = {0};
	int r = edits_apply(edits, d->text, &text, err);

	edits_done(edits);
	if (r == 0)
		r = prove(d, place, entry, &text, err);
	if (r < 0) {
		free(text.data);
		return r;
	}
	*ret = text;
	return 0;
}

/* The settings behind the header's line, with plain line ends. */
static char *copy_lines(const char *from, size_t len)
{
	char *copy = malloc(len + 2), *p = copy;

	if (copy == NULL)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (from[i] != '\r' || i + 1 == len || from[i + 1] != '\n')
			*p++ = from[i];
	}
	if (p > copy && p[-1] != '\n')
		*p++ = '\n';
	*p = '\0';
	return copy;
}

static char *get_lines(const struct document *d)
{
	const struct toml_statement *first, *last;
	struct run run, more;

	if (!next_run(&d->scan, 0, &run) || next_run(&d->scan, run.last + 1, &more))
		return NULL;
	first = &d->scan.list[run.first];
	last = &d->scan.list[run.last];
	return first->is_header ? copy_lines(d->text->data + first->end, last->end - first->end)
				: NULL;
}

/* ---- the format ---- */

static int toml_set(const struct text *in, const struct splice_place *place, const char *entry,
		    struct text *ret, struct sbx_error *err)
{
	auto_free char *old = NULL;
	struct edits edits = {0};
	struct document d;
	int r = open_document(in, place, &d, err);

	if (r < 0)
		return r;
	old = get_lines(&d);
	if (old != NULL && strcmp(old, entry) == 0) {
		*ret = (struct text){0};
	} else {
		set_entry(&d, place, entry, &edits);
		r = finish(&d, place, entry, &edits, ret, err);
	}
	toml_scan_done(&d.scan);
	return r;
}

static int toml_remove(const struct text *in, const struct splice_place *place, struct text *ret,
		       struct sbx_error *err)
{
	struct edits edits = {0};
	struct document d;
	int r = open_document(in, place, &d, err);

	if (r < 0)
		return r;
	remove_entry(&d, &edits);
	if (edits.count == 0)
		*ret = (struct text){0};
	else
		r = finish(&d, place, NULL, &edits, ret, err);
	toml_scan_done(&d.scan);
	return r;
}

/* JSON's escapes are TOML's too, but for DEL, which TOML wants escaped. */
static void format_string(FILE *f, const json_t *value)
{
	auto_free char *text = json_dumps(value, JSON_ENCODE_ANY);

	for (const char *p = text ? text : "\"\""; *p != '\0'; p++) {
		if (*p == '\x7f')
			fputs("\\u007F", f);
		else
			fputc(*p, f);
	}
}

static void format_value(FILE *f, const json_t *value)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(value)) {
		format_string(f, value);
		return;
	}
	fputc('[', f);
	json_array_foreach (value, i, item) {
		fputs(i > 0 ? ", " : "", f);
		format_string(f, item);
	}
	fputc(']', f);
}

static char *toml_format(const json_t *value)
{
	const char *key;
	const json_t *item;
	char *lines = NULL;
	size_t size;
	FILE *f = open_memstream(&lines, &size);

	if (f == NULL)
		return NULL;
	json_object_foreach ((json_t *)value, key, item) {
		fprintf(f, "%s = ", key);
		format_value(f, item);
		fputc('\n', f);
	}
	fclose(f);
	return lines;
}

static char *toml_get(const struct text *in, const struct splice_place *place)
{
	struct sbx_error err;
	struct document d;
	char *ret;

	if (open_document(in, place, &d, &err) < 0)
		return NULL;
	ret = get_lines(&d);
	toml_scan_done(&d.scan);
	return ret;
}

const struct splice_format toml_splice = {toml_format, toml_set, toml_remove, toml_get};
