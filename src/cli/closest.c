/* SPDX-License-Identifier: MIT */
#include "cli/closest.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_LEN 32

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Levenshtein's distance of two names, row by row. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_LEN + 1], n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; a[i] != '\0'; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < n; j++) {
			size_t changed = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			row[j + 1] = least(changed, least(row[j], row[j + 1]) + 1);
		}
	}
	return row[n];
}

void closest_offer(struct closest *c, const char *candidate)
{
	size_t d, len = strlen(c->typed);

	if (len == 0 || len > NAME_MAX_LEN || strlen(candidate) > NAME_MAX_LEN)
		return;
	d = distance(c->typed, candidate);
	/* The beginning of a name is as good as one typing error. */
	if (len >= 3 && strncmp(candidate, c->typed, len) == 0)
		d = 1;
	if (d > 2 || d >= len || (c->best != NULL && d >= c->distance))
		return;
	c->best = candidate;
	c->distance = d;
}

const char *closest_hint(struct closest *c, const char *prefix)
{
	c->hint[0] = '\0';
	if (c->best != NULL)
		snprintf(c->hint, sizeof(c->hint), "; did you mean '%s%s'?", prefix, c->best);
	return c->hint;
}
