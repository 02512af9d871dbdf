/* SPDX-License-Identifier: MIT */
#include "core/artifact_meta.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/text.h"

#include <ctype.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>

#define DIGITS	   6
#define ENDING_MAX 8
#define PIXELS_MAX 10000000

/* ---- text that can be shown ---- */

/* Code points that end a line, or change the direction of what stands beside them. */
static bool is_unruly(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 ||
	       c == 0x200e || c == 0x200f || c == 0x061c || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* The character at p, which is well-formed; *ret_len bytes. */
static uint32_t decode(const unsigned char *p, size_t *ret_len)
{
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	uint32_t c = len == 1 ? p[0] : p[0] & (0x7fu >> len);

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (p[i] & 0x3fu);
	*ret_len = len;
	return c;
}

/* As much of text as fits, each unruly character as `instead`; 0: nothing in its place. */
static size_t clean(const char *text, char instead, char *ret, size_t size)
{
	auto_buf struct sbx_buf utf8 = SBX_BUF_INIT(4 * SBX_META_MAX);
	const unsigned char *p;
	size_t at = 0, len;

	sbx_text_append_utf8(&utf8, text, strlen(text));
	p = (const unsigned char *)(utf8.data && !utf8.failed ? utf8.data : "");
	for (; *p != '\0'; p += len) {
		bool unruly = is_unruly(decode(p, &len));
		size_t takes = unruly ? instead != '\0' : len;

		if (at + takes >= size)
			break;
		if (unruly && instead != '\0')
			ret[at++] = instead;
		else if (!unruly)
			memcpy(ret + at, p, len), at += len;
	}
	ret[at] = '\0';
	return at;
}

void sbx_clean_line(const char *text, char *ret, size_t size)
{
	size_t len, start = 0;

	len = clean(text, ' ', ret, size);
	while (len > 0 && ret[len - 1] == ' ')
		ret[--len] = '\0';
	while (ret[start] == ' ')
		start++;
	memmove(ret, ret + start, len - start + 1);
}

void sbx_clean_name(const char *path, char *ret, size_t size)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	size_t room = size, ending = dot ? strlen(dot) : 0;
	char tail[32];

	name += strspn(name, ".");
	/* The ending stays where a name is cut. */
	if (strlen(name) >= size && ending > 1 && ending < sizeof(tail) / 2) {
		clean(dot, '_', tail, sizeof(tail));
		room = size - strlen(tail);
	} else {
		tail[0] = '\0';
	}
	sbx_clean_line(name, ret, room);
	for (char *c = ret; *c != '\0'; c++) {
		if (*c == '\\' || *c == ':')
			*c = '_';
	}
	if (ret[0] == '-' || ret[0] == '.')
		ret[0] = '_';
	strcat(ret, tail);
	if (ret[0] == '\0' || !sbx_path_is_component(ret))
		snprintf(ret, size, "file");
}

uint32_t sbx_artifact_file_number(const char *name, const char **ret_ending)
{
	uint32_t number = 0;
	size_t len;

	for (int i = 0; i < DIGITS; i++) {
		if (!isdigit((unsigned char)name[i]))
			return 0;
		number = number * 10 + (uint32_t)(name[i] - '0');
	}
	if (name[DIGITS] != '.')
		return 0;
	name += DIGITS + 1;
	len = strlen(name);
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)name[i] >= 0x80 || !isalnum((unsigned char)name[i]))
			return 0;
	}
	if (len == 0 || len > ENDING_MAX)
		return 0;
	if (ret_ending != NULL)
		*ret_ending = name;
	return number;
}

/* ---- the line of JSON ---- */

static const char *get_text(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static char *copy_text(const json_t *o, const char *key)
{
	const char *text = get_text(o, key);

	return text[0] != '\0' ? strdup(text) : NULL;
}

/* NULL when no file can have it: those of all plots are kept for as long as a collection takes. */
static char *copy_path(const json_t *o)
{
	return strlen(get_text(o, "path")) < PATH_MAX ? copy_text(o, "path") : NULL;
}

static uint32_t get_pixels(const json_t *o, const char *key)
{
	double value = json_number_value(json_object_get(o, key));

	return value >= 1 && value <= PIXELS_MAX ? (uint32_t)value : 0;
}

static enum sbx_artifact_kind get_kind(const json_t *o)
{
	const char *kind = get_text(o, "kind");

	if (strcmp(kind, "display") == 0)
		return SBX_ARTIFACT_DISPLAY;
	return strcmp(kind, "file") == 0 ? SBX_ARTIFACT_FILE : SBX_ARTIFACT_PLOT;
}

static char *get_chart(const json_t *o)
{
	json_t *chart = json_object_get(o, "chart");
	char *text = json_is_object(chart) ? json_dumps(chart, JSON_COMPACT) : NULL;

	if (text == NULL || strlen(text) <= SBX_CHART_MAX)
		return text;
	free(text);
	return NULL;
}

/* Numbers of a chart may be larger than an integer of ours. */
static json_t *load(const char *json, size_t len)
{
	json_t *o = json_loadb(json, len, 0, NULL);

	return o ? o : json_loadb(json, len, JSON_DECODE_INT_AS_REAL, NULL);
}

void sbx_artifact_meta_parse(const char *json, size_t len, struct sbx_artifact_meta *ret)
{
	json_t *o = load(json, len);

	*ret = (struct sbx_artifact_meta){
		.kind = get_kind(o),
		.mime_type = copy_text(o, "mime"),
		.path = copy_path(o),
		.chart = get_chart(o),
		.width = get_pixels(o, "width"),
		.height = get_pixels(o, "height"),
	};
	sbx_clean_line(get_text(o, "source"), ret->source, sizeof(ret->source));
	sbx_clean_line(get_text(o, "title"), ret->title, sizeof(ret->title));
	json_decref(o);
}

void sbx_artifact_meta_done(struct sbx_artifact_meta *meta)
{
	free(meta->mime_type);
	free(meta->path);
	free(meta->chart);
	*meta = (struct sbx_artifact_meta){0};
}
