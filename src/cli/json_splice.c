/* SPDX-License-Identifier: MIT */
#include "cli/splice.h"

#include "cli/json_plain.h"
#include "cli/json_print.h"
#include "cli/json_scan.h"
#include "cli/trouble.h"

#include <stdio.h>
#include <string.h>

/* A file as it is read: offsets are the same in text and plain. */
struct document {
	const struct text *text;
	struct text plain; /* without comments, see json_plain.h */
	json_t *root;	   /* NULL when the file is empty but for space and comments */
	struct json_style style;
	struct json_object outer, inner; /* the root; the table, when there is one */
	bool has_inner;
};

static void close_document(struct document *d)
{
	free(d->plain.data);
	json_decref(d->root);
}

/* ---- style ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The white space that the line of this offset begins with. */
static struct json_indent line_indent(const struct text *in, size_t at)
{
	size_t start = at, end;

	while (start > 0 && in->data[start - 1] != '\n')
		start--;
	for (end = start; end < at && is_blank(in->data[end]); end++)
		;
	return (struct json_indent){in->data + start, end - start, 0};
}

static bool has_line_end(const struct text *in, size_t from, size_t to)
{
	return memchr(in->data + from, '\n', to - from) != NULL;
}

/* A member whose name is the first thing on its line shows how members are indented. */
static bool begins_line(const struct text *in, const struct json_member *m)
{
	struct json_indent indent = line_indent(in, m->key);

	return indent.base + indent.base_len == in->data + m->key &&
	       has_line_end(in, 0, m->key);
}

static void find_style(struct document *d)
{
	const struct json_object *root = &d->outer;

	d->style = (struct json_style){splice_line_end(d->text), ": ", ", ", "  ", 2};
	if (root->count == 0)
		return;
	if (root->first.value == root->first.key_end + 1) {
		d->style.colon = ":";
		d->style.comma = ",";
	}
	if (begins_line(d->text, &root->first)) {
		struct json_indent indent = line_indent(d->text, root->first.key);

		d->style.unit = indent.base;
		d->style.unit_len = indent.base_len;
	}
}

/* ---- reading ---- */

static json_t *parse(const struct text *plain, struct sbx_error *err)
{
	json_error_t problem;
	json_t *root =
		json_loadb(plain->data, plain->len, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, &problem);

	if (root == NULL)
		cli_fail(err, SBX_E_INVALID, "line %d: no valid JSON: %.160s",
			 problem.line > 0 ? problem.line : 1, problem.text);
	return root;
}

static int fail_at(const struct document *d, size_t at, struct sbx_error *err, const char *what,
		   const char *name)
{
	return cli_fail(err, SBX_E_INVALID, "line %u: '%s' %s; correct that first",
			splice_line(d->text->data, at), name, what);
}

/* Find the table, and the entry in it. */
static int find_place(struct document *d, const struct splice_place *place, struct sbx_error *err)
{
	const struct json_member *table = &d->outer.found;

	if (d->outer.found_count == 0)
		return 0;
	if (d->outer.found_count > 1)
		return fail_at(d, table->key, err, "is there twice", place->table);
	if (d->plain.data[table->value] != '{')
		return fail_at(d, table->key, err, "is no object", place->table);
	json_scan_object(&d->plain, table->value, place->name, &d->inner);
	d->has_inner = true;
	if (d->inner.found_count > 1)
		return fail_at(d, d->inner.found.key, err, "is there twice", place->name);
	return 0;
}

static int read_document(struct document *d, const struct splice_place *place,
			 struct sbx_error *err)
{
	size_t start = json_skip_space(&d->plain, 0);

	if (start < d->plain.len) {
		d->root = parse(&d->plain, err);
		if (d->root == NULL)
			return -(int)err->code;
		if (!json_is_object(d->root))
			return cli_fail(err, SBX_E_INVALID, "line %u: no JSON object",
					splice_line(d->plain.data, start));
		json_scan_object(&d->plain, start, place->table, &d->outer);
	}
	find_style(d);
	return find_place(d, place, err);
}

static int open_document(const struct text *in, const struct splice_place *place,
			 struct document *ret, struct sbx_error *err)
{
	struct document d = {.text = in, .plain = {.len = in->len}};
	int r = json_plain(in, &d.plain.data, err);

	if (r == 0)
		r = read_document(&d, place, err);
	if (r < 0) {
		close_document(&d);
		return r;
	}
	*ret = d;
	return 0;
}

static json_t *entry_of(const struct document *d, const struct splice_place *place)
{
	return json_object_get(json_object_get(d->root, place->table), place->name);
}

/* ---- places in an object ---- */

/* White space in the file itself, not what was a comment. */
static bool is_space_at(const struct document *d, size_t at)
{
	char c = d->text->data[at];

	return is_blank(c) || c == '\n' || c == '\r';
}

/* Behind the last thing before the closing brace, be it a comment. */
static size_t content_end(const struct document *d, const struct json_object *o)
{
	size_t end = o->close;

	while (end > o->open + 1 && is_space_at(d, end - 1))
		end--;
	return end;
}

/* The comma behind the last member, which json_plain() made a tab; 0: there is none. */
static size_t trailing_comma(const struct document *d, const struct json_object *o)
{
	for (size_t i = o->count ? o->last.value_end : o->close; i < o->close; i++) {
		if (d->text->data[i] == ',' && d->plain.data[i] == '\t')
			return i;
	}
	return 0;
}

/* ---- adding ---- */

static bool is_one_line(const struct document *d, const struct json_object *o)
{
	if (has_line_end(d->text, o->open, o->close))
		return false;
	return o->count > 0 || (o->open != d->outer.open && !has_line_end(d->text, 0, d->text->len));
}

static struct json_indent member_indent(const struct document *d, const struct json_object *o)
{
	struct json_indent indent = line_indent(d->text, o->open);

	if (o->count > 0 && begins_line(d->text, &o->last))
		return line_indent(d->text, o->last.key);
	indent.units++;
	return indent;
}

static void print_member(FILE *f, const char *key, const json_t *value,
			 const struct json_style *style, struct json_indent indent)
{
	json_print_string(f, key);
	fputs(style->colon, f);
	json_print_value(f, value, style, indent);
}

/* An object without members gets the member between its braces, and lines of its own. */
static void print_first(FILE *f, const struct document *d, const struct json_object *o,
			const char *key, const json_t *value, bool closed)
{
	struct json_indent indent = line_indent(d->text, o->open), inner = member_indent(d, o);

	fputs(d->style.line_end, f);
	json_print_indent(f, &d->style, inner);
	print_member(f, key, value, &d->style, inner);
	if (closed)
		return;
	fputs(d->style.line_end, f);
	json_print_indent(f, &d->style, indent);
}

static void add_first(const struct document *d, const struct json_object *o, const char *key,
		      const json_t *value, struct edits *edits)
{
	bool closed = has_line_end(d->text, o->open, o->close);
	size_t at = content_end(d, o), size, removed = closed ? 0 : o->close - at;
	struct json_style style = d->style;
	char *added = NULL;
	FILE *f = open_memstream(&added, &size);

	if (f == NULL) {
		edits_fail(edits);
		return;
	}
	if (is_one_line(d, o)) {
		style.line_end = NULL;
		print_member(f, key, value, &style, (struct json_indent){"", 0, 0});
	} else {
		print_first(f, d, o, key, value, closed);
	}
	fclose(f);
	edits_add(edits, at, removed, added);
}

static void add_behind(const struct document *d, const struct json_object *o, const char *key,
		       const json_t *value, struct edits *edits)
{
	struct json_indent indent = member_indent(d, o);
	struct json_style style = d->style;
	bool has_comma = trailing_comma(d, o) != 0;
	char *added = NULL;
	size_t size;
	FILE *f = open_memstream(&added, &size);

	if (f == NULL) {
		edits_fail(edits);
		return;
	}
	if (is_one_line(d, o)) {
		fputs(style.comma + 1, f); /* what stands behind a comma */
		style.line_end = NULL;
	} else {
		fputs(style.line_end, f);
		json_print_indent(f, &style, indent);
	}
	print_member(f, key, value, &style, indent);
	if (has_comma)
		fputc(',', f);
	fclose(f);
	if (!has_comma)
		edits_add(edits, o->last.value_end, 0, strdup(","));
	edits_add(edits, content_end(d, o), 0, added);
}

static void add_member(const struct document *d, const struct json_object *o, const char *key,
		       const json_t *value, struct edits *edits)
{
	if (o->count == 0)
		add_first(d, o, key, value, edits);
	else
		add_behind(d, o, key, value, edits);
}

/* A file without anything in it gets a whole object. */
static void add_document(const struct document *d, const json_t *root, struct edits *edits)
{
	size_t len = d->text->len, size;
	char *added = NULL;
	FILE *f = open_memstream(&added, &size);

	if (f == NULL) {
		edits_fail(edits);
		return;
	}
	if (len > 0 && json_skip_space(d->text, 0) < len && d->text->data[len - 1] != '\n' &&
	    !(len == 3 && (unsigned char)d->text->data[0] == 0xef))
		fputs(d->style.line_end, f);
	json_print_value(f, root, &d->style, (struct json_indent){"", 0, 0});
	fputs(d->style.line_end, f);
	fclose(f);
	edits_add(edits, len, 0, added);
}

static void replace_value(const struct document *d, const json_t *value, struct edits *edits)
{
	const struct json_member *m = &d->inner.found;
	struct json_style style = d->style;
	char *added = NULL;
	size_t size;
	FILE *f = open_memstream(&added, &size);

	if (f == NULL) {
		edits_fail(edits);
		return;
	}
	if (!has_line_end(d->text, d->inner.open, d->inner.close))
		style.line_end = NULL;
	json_print_value(f, value, &style, line_indent(d->text, m->key));
	fclose(f);
	edits_add(edits, m->value, m->value_end - m->value, added);
}

static void set_entry(const struct document *d, const struct splice_place *place,
		      const json_t *value, struct edits *edits)
{
	json_t *table = json_pack("{s:O}", place->name, value);
	json_t *root = json_pack("{s:O}", place->table, table);

	if (root == NULL)
		edits_fail(edits);
	else if (d->root == NULL)
		add_document(d, root, edits);
	else if (!d->has_inner)
		add_member(d, &d->outer, place->table, table, edits);
	else if (d->inner.found_count == 0)
		add_member(d, &d->inner, place->name, value, edits);
	else
		replace_value(d, value, edits);
	json_decref(root);
	json_decref(table);
}

/* ---- removing ---- */

static size_t skip_blanks(const struct document *d, size_t at)
{
	while (at < d->text->len && is_blank(d->text->data[at]))
		at++;
	return at;
}

static bool ends_line(const struct document *d, size_t at)
{
	return at < d->text->len && (d->text->data[at] == '\n' || d->text->data[at] == '\r');
}

/* The beginning of the member's line end and indentation, or its key when others are there. */
static size_t lead_of(const struct document *d, size_t key)
{
	const char *data = d->text->data;
	size_t at = key;

	while (at > 0 && is_blank(data[at - 1]))
		at--;
	if (at > 0 && data[at - 1] == '\n')
		at--;
	if (at > 0 && data[at] == '\n' && data[at - 1] == '\r')
		at--;
	return at;
}

static bool is_comment_at(const struct document *d, size_t at)
{
	return d->plain.data[at] == ' ' && !is_space_at(d, at);
}

/* What goes with the member whose last byte is before end: its line, or its share of one. */
static void cut(const struct document *d, size_t key, size_t end, struct edits *edits)
{
	size_t lead = lead_of(d, key), behind = skip_blanks(d, end), comment = lead;

	while (comment > 0 && is_blank(d->text->data[comment - 1]))
		comment--;
	/* A line comment above would swallow what follows on our line. */
	if (comment > 0 && is_comment_at(d, comment - 1) && !ends_line(d, behind))
		lead = key;
	edits_add(edits, lead, (lead == key ? behind : end) - lead, NULL);
}

static void cut_only_member(const struct document *d, size_t end, struct edits *edits)
{
	const struct json_object *o = &d->inner;
	size_t key = o->found.key, before = o->open + 1, behind = end;

	while (before < key && is_space_at(d, before))
		before++;
	while (behind < o->close && is_space_at(d, behind))
		behind++;
	if (before == key && behind == o->close)
		edits_add(edits, o->open + 1, o->close - o->open - 1, NULL);
	else
		cut(d, key, end, edits);
}

static void remove_entry(const struct document *d, struct edits *edits)
{
	const struct json_object *o = &d->inner;
	bool is_last = o->found.key == o->last.key;
	size_t comma = is_last ? trailing_comma(d, o) : o->found.comma;
	size_t end = comma ? comma + 1 : o->found.value_end;

	if (o->count == 1) {
		cut_only_member(d, end, edits);
		return;
	}
	if (comma == 0)
		edits_add(edits, o->before.comma, 1, NULL);
	cut(d, o->found.key, end, edits);
}

/* ---- proof ---- */

/* Read the new text as anybody would: it must be the old one but for our entry. */
static int prove(const struct document *old, const struct splice_place *place, json_t *value,
		 const struct text *text, struct sbx_error *err)
{
	json_t *wanted = old->root ? json_incref(old->root) : json_object();
	json_t *table = json_object_get(wanted, place->table);
	struct document d;
	bool same;

	if (value == NULL)
		json_object_del(table, place->name);
	else if (table != NULL)
		json_object_set(table, place->name, value);
	else
		json_object_set_new(wanted, place->table, json_pack("{s:O}", place->name, value));
	if (open_document(text, place, &d, err) < 0) {
		json_decref(wanted);
		return cli_prefix(err, "the change would break the file");
	}
	same = json_equal(wanted, d.root);
	close_document(&d);
	json_decref(wanted);
	return same ? 0
		    : cli_fail(err, SBX_E_PROTOCOL,
			       "the change would not be what was asked for; please report this");
}

static int finish(const struct document *d, const struct splice_place *place, json_t *value,
		  struct edits *edits, struct text *ret, struct sbx_error *err)
{
	struct text text = {0};
	int r = edits_apply(edits, d->text, &text, err);

	edits_done(edits);
	if (r == 0)
		r = prove(d, place, value, &text, err);
	if (r < 0) {
		free(text.data);
		return r;
	}
	*ret = text;
	return 0;
}

/* ---- the format ---- */

static int set_value(const struct text *in, const struct splice_place *place, json_t *value,
		     struct text *ret, struct sbx_error *err)
{
	struct edits edits = {0};
	struct document d;
	int r = open_document(in, place, &d, err);

	if (r < 0)
		return r;
	if (json_equal(entry_of(&d, place), value)) {
		*ret = (struct text){0};
	} else {
		set_entry(&d, place, value, &edits);
		r = finish(&d, place, value, &edits, ret, err);
	}
	close_document(&d);
	return r;
}

static int json_set(const struct text *in, const struct splice_place *place, const char *entry,
		    struct text *ret, struct sbx_error *err)
{
	json_t *value = json_loads(entry, JSON_DECODE_INT_AS_REAL, NULL);
	int r;

	if (value == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	r = set_value(in, place, value, ret, err);
	json_decref(value);
	return r;
}

static int json_remove(const struct text *in, const struct splice_place *place, struct text *ret,
		       struct sbx_error *err)
{
	struct edits edits = {0};
	struct document d;
	int r = open_document(in, place, &d, err);

	if (r < 0)
		return r;
	if (d.inner.found_count == 0) {
		*ret = (struct text){0};
	} else {
		remove_entry(&d, &edits);
		r = finish(&d, place, NULL, &edits, ret, err);
	}
	close_document(&d);
	return r;
}

static char *json_format(const json_t *value)
{
	return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
}

static char *json_get(const struct text *in, const struct splice_place *place)
{
	struct sbx_error err;
	struct document d;
	json_t *entry;
	char *ret;

	if (open_document(in, place, &d, &err) < 0)
		return NULL;
	entry = entry_of(&d, place);
	ret = entry ? json_format(entry) : NULL;
	close_document(&d);
	return ret;
}

const struct splice_format json_splice = {json_format, json_set, json_remove, json_get};
