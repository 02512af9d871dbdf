/* SPDX-License-Identifier: MIT */
#include "cli/json_scan.h"

#include <jansson.h>
#include <string.h>

/* Past the end there are only NULs. */
static char at(const struct text *in, size_t i)
{
	return i < in->len ? in->data[i] : '\0';
}

size_t json_skip_space(const struct text *in, size_t i)
{
	while (i < in->len && strchr(" \t\r\n", in->data[i]) != NULL && in->data[i] != '\0')
		i++;
	return i;
}

static size_t skip_string(const struct text *in, size_t i)
{
	for (i++; i < in->len && in->data[i] != '"'; i++)
		i += in->data[i] == '\\';
	return i < in->len ? i + 1 : in->len;
}

static size_t skip_scalar(const struct text *in, size_t i)
{
	while (i < in->len && strchr(",]} \t\r\n", in->data[i]) == NULL)
		i++;
	return i;
}

/* An object or array: its brackets match, so that counting them is enough. */
static size_t skip_container(const struct text *in, size_t i)
{
	size_t depth = 0;

	while (i < in->len) {
		char c = in->data[i];

		if (c == '"') {
			i = skip_string(in, i);
			continue;
		}
		i++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return i;
	}
	return i;
}

static size_t skip_value(const struct text *in, size_t i)
{
	char c = at(in, i);

	if (c == '"')
		return skip_string(in, i);
	return c == '{' || c == '[' ? skip_container(in, i) : skip_scalar(in, i);
}

static struct json_member scan_member(const struct text *in, size_t i)
{
	struct json_member m = {.key = i, .key_end = skip_string(in, i)};
	size_t next;

	next = json_skip_space(in, m.key_end);
	m.value = json_skip_space(in, next + (at(in, next) == ':'));
	m.value_end = skip_value(in, m.value);
	next = json_skip_space(in, m.value_end);
	m.comma = at(in, next) == ',' ? next : 0;
	return m;
}

/* Names may be written with escapes. */
static bool is_named(const struct text *in, const struct json_member *m, const char *name)
{
	const char *key = in->data + m->key;
	size_t len = m->key_end - m->key;
	json_t *decoded;
	bool same;

	if (memchr(key, '\\', len) == NULL)
		return len == strlen(name) + 2 && memcmp(key + 1, name, len - 2) == 0;
	decoded = json_loadb(key, len, JSON_DECODE_ANY, NULL);
	same = decoded != NULL && strcmp(json_string_value(decoded), name) == 0;
	json_decref(decoded);
	return same;
}

static void take_member(struct json_object *o, const struct json_member *m, bool named)
{
	if (named) {
		o->has_before = o->count > 0;
		o->before = o->last;
		o->found = *m;
		o->found_count++;
	}
	if (o->count++ == 0)
		o->first = *m;
	o->last = *m;
}

void json_scan_object(const struct text *in, size_t open, const char *name,
		      struct json_object *ret)
{
	size_t i = json_skip_space(in, open + 1);

	*ret = (struct json_object){.open = open};
	while (at(in, i) == '"') {
		struct json_member m = scan_member(in, i);

		take_member(ret, &m, is_named(in, &m, name));
		i = json_skip_space(in, m.comma ? m.comma + 1 : m.value_end);
	}
	ret->close = i < in->len ? i : in->len;
}
