/* SPDX-License-Identifier: MIT */
#include "backend/engine/ignore.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- patterns ---- */

static char *trim(char *line)
{
	char *end = line + strlen(line);

	while (isspace((unsigned char)*line))
		line++;
	while (end > line && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return line;
}

/* "/a/b/", "./a/b" and "a/b" are one. */
static char *strip(char *pattern)
{
	size_t len;

	while (pattern[0] == '/' || (pattern[0] == '.' && pattern[1] == '/'))
		pattern++;
	len = strlen(pattern);
	while (len > 0 && pattern[len - 1] == '/')
		pattern[--len] = '\0';
	return pattern;
}

static int add(struct engine_ignore *ignore, char *line, struct sbx_error *err)
{
	bool take_in = line[0] == '!';
	char *pattern = strip(trim(line + take_in));

	if (pattern[0] == '\0')
		return 0;
	if (ignore->count == ENGINE_IGNORE_MAX)
		return sbx_fail(err, SBX_E_LIMIT, ".dockerignore has more than %d lines",
				ENGINE_IGNORE_MAX);
	ignore->patterns[ignore->count] = pattern;
	ignore->take_in[ignore->count++] = take_in;
	return 0;
}

int engine_ignore_parse(const char *text, struct engine_ignore *ret, struct sbx_error *err)
{
	char *rest, *line;
	int r = 0;

	*ret = (struct engine_ignore){.text = strdup(text)};
	if (ret->text == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot read .dockerignore");
	rest = ret->text;
	while (r == 0 && (line = strsep(&rest, "\n")) != NULL) {
		line = trim(line);
		if (line[0] != '#')
			r = add(ret, line, err);
	}
	if (r < 0)
		engine_ignore_done(ret);
	return r;
}

void engine_ignore_done(struct engine_ignore *ignore)
{
	free(ignore->text);
	*ignore = (struct engine_ignore){0};
}

/* ---- matching ---- */

/* The first component, and where the next begins. */
static const char *next_component(const char *path, char ret[NAME_MAX + 1])
{
	size_t len = strcspn(path, "/"), n = len < NAME_MAX ? len : NAME_MAX;

	memcpy(ret, path, n);
	ret[n] = '\0';
	return path + len + (path[len] == '/');
}

/* A pattern that fits a folder fits all below it, so the path may go on behind the pattern. */
static bool fits(const char *pattern, const char *path)
{
	char want[NAME_MAX + 1], have[NAME_MAX + 1];
	const char *pattern_rest, *path_rest;

	if (pattern[0] == '\0')
		return true;
	pattern_rest = next_component(pattern, want);
	if (strcmp(want, "**") == 0) {
		if (pattern_rest[0] == '\0')
			return path[0] != '\0';
		for (;;) {
			if (fits(pattern_rest, path))
				return true;
			if (path[0] == '\0')
				return false;
			path = next_component(path, have);
		}
	}
	if (path[0] == '\0')
		return false;
	path_rest = next_component(path, have);
	return fnmatch(want, have, 0) == 0 && fits(pattern_rest, path_rest);
}

bool engine_ignore_has(const struct engine_ignore *ignore, const char *path)
{
	for (size_t i = ignore->count; i-- > 0;) {
		if (fits(ignore->patterns[i], path))
			return !ignore->take_in[i];
	}
	return false;
}

bool engine_ignore_has_exceptions(const struct engine_ignore *ignore)
{
	for (size_t i = 0; i < ignore->count; i++) {
		if (ignore->take_in[i])
			return true;
	}
	return false;
}
