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

/* "/a/b/", "./a//b" and "c/../a/b" are one. */
static char *clean(char *pattern)
{
	char *rest = pattern, *end = pattern, *word;

	while ((word = strsep(&rest, "/")) != NULL) {
		size_t len = strlen(word);

		if (len == 0 || strcmp(word, ".") == 0)
			continue;
		if (strcmp(word, "..") == 0) {
			while (end > pattern && *--end != '/')
				;
			continue;
		}
		if (end > pattern)
			*end++ = '/';
		memmove(end, word, len);
		end += len;
	}
	*end = '\0';
	return pattern;
}

static int add(struct engine_ignore *ignore, char *line, struct sbx_error *err)
{
	bool take_in = line[0] == '!';
	char *pattern = clean(trim(line + take_in));

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
	static const char mark[] = "\xef\xbb\xbf"; /* of the byte order, which editors write */
	char *rest, *line;
	int r = 0;

	if (strncmp(text, mark, sizeof(mark) - 1) == 0)
		text += sizeof(mark) - 1;
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

/*
 * A pattern that fits a folder fits all below it, so the path may go on behind the pattern. What does
 * not fit is tried again one component further behind the last "**" alone: where those before it fit
 * first is as good as anywhere, and so there is no pattern that takes long. "**.key" is "**" and
 * "*.key".
 */
static bool fits(const char *pattern, const char *path)
{
	const char *behind = NULL, *again = NULL; /* the last "**", and where it was tried */
	char want[NAME_MAX + 1], have[NAME_MAX + 1];

	while (pattern[0] != '\0') {
		const char *pattern_rest = next_component(pattern, want);
		const char *path_rest = next_component(path, have);

		if (strncmp(want, "**", 2) == 0) {
			pattern = behind = want[2] == '\0' ? pattern_rest : pattern + 1;
			again = path;
			if (pattern[0] == '\0')
				return path[0] != '\0';
			continue;
		}
		if (path[0] == '\0')
			return false;
		if (fnmatch(want, have, 0) == 0) {
			pattern = pattern_rest;
			path = path_rest;
			continue;
		}
		if (behind == NULL)
			return false;
		pattern = behind;
		path = again = next_component(again, have);
	}
	return true;
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
