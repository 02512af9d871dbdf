/* SPDX-License-Identifier: MIT */
/*
 * .dockerignore: which files of a folder are no part of a build's context. A line is a pattern of
 * path components with *, ? and [], ** is any number of components, ! in front takes a file in again,
 * # begins a comment; the last line that fits wins, and a folder that is left out takes what is below
 * it along.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define ENGINE_IGNORE_MAX 1024

struct engine_ignore {
	char *text;		     /* owned */
	char *patterns[ENGINE_IGNORE_MAX]; /* into text, without '!' and slashes at their ends */
	bool take_in[ENGINE_IGNORE_MAX];
	size_t count;
};

/* From the text of the file, which is copied. */
int engine_ignore_parse(const char *text, struct engine_ignore *ret, struct sbx_error *err);

/* Whether the file or folder of this path, relative to the context, is left out. */
bool engine_ignore_has(const struct engine_ignore *ignore, const char *path);

/* Whether something may be taken in again below what is left out. */
bool engine_ignore_has_exceptions(const struct engine_ignore *ignore);

void engine_ignore_done(struct engine_ignore *ignore);
