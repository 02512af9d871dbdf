/* SPDX-License-Identifier: MIT */
/* Times of runs that take turns, and the middle of them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct series {
	uint64_t *ns; /* count of them */
	size_t count;
};

/* Room for so many times; ends the program without memory. Free .ns. */
struct series series_new(size_t room);
void series_sort(struct series *s);

double series_ms(uint64_t ns);

/* Of a sorted series. */
double series_median_ms(const struct series *s);
