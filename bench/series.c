/* SPDX-License-Identifier: MIT */
#include "series.h"

#include <stdio.h>
#include <stdlib.h>

struct series series_new(size_t room)
{
	struct series s = {.ns = calloc(room, sizeof(uint64_t))};

	if (s.ns != NULL)
		return s;
	fputs("no memory for a series of times\n", stderr);
	exit(1);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void series_sort(struct series *s)
{
	qsort(s->ns, s->count, sizeof(s->ns[0]), compare);
}

double series_ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

double series_median_ms(const struct series *s)
{
	return series_ms(s->ns[s->count / 2]);
}
