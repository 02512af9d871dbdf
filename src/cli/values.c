/* SPDX-License-Identifier: MIT */
#include "values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct suffix {
	const char *name;
	double factor;
};

static const struct suffix sizes[] = {
	{"", 1},      {"b", 1},
	{"k", 1024},  {"kb", 1024},	  {"kib", 1024},
	{"m", 1 << 20}, {"mb", 1 << 20},  {"mib", 1 << 20},
	{"g", 1 << 30}, {"gb", 1 << 30},  {"gib", 1 << 30},
	{NULL, 0},
};
static const struct suffix times[] = {
	{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {NULL, 0},
};
static const struct suffix millis[] = {{"", 1000}, {NULL, 0}};
static const struct suffix counts[] = {{"", 1}, {NULL, 0}};

static const struct suffix *const suffixes[] = {
	[SBX_UNIT_COUNT] = counts,
	[SBX_UNIT_BYTES] = sizes,
	[SBX_UNIT_MS] = times,
	[SBX_UNIT_MILLI] = millis,
};

bool value_parse(const char *text, enum sbx_unit unit, uint64_t *ret)
{
	const char *digits = "0123456789.";
	size_t len = strspn(text, digits);
	char number[32], *end;
	double value;

	if (strcmp(text, "none") == 0) {
		*ret = 0;
		return true;
	}
	if (len == 0 || len >= sizeof(number))
		return false;
	memcpy(number, text, len);
	number[len] = '\0';
	value = strtod(number, &end);
	if (*end != '\0')
		return false;
	for (const struct suffix *s = suffixes[unit]; s->name != NULL; s++) {
		if (strcasecmp(text + len, s->name) != 0)
			continue;
		value *= s->factor;
		/* A fraction of the smallest unit is a mistake, and so is what no limit can be. */
		if (value > 9e15 || (double)(uint64_t)value != value)
			return false;
		*ret = (uint64_t)value;
		return true;
	}
	return false;
}

void value_format(uint64_t value, enum sbx_unit unit, char *ret, size_t size)
{
	static const struct {
		uint64_t factor;
		const char *name;
	} steps[] = {{1ull << 30, "G"}, {1ull << 20, "M"}, {1ull << 10, "K"}};

	if (unit == SBX_UNIT_MILLI) {
		snprintf(ret, size, "%g", (double)value / 1000);
		return;
	}
	if (unit == SBX_UNIT_MS) {
		if (value % 1000 == 0)
			snprintf(ret, size, "%llus", (unsigned long long)value / 1000);
		else
			snprintf(ret, size, "%llums", (unsigned long long)value);
		return;
	}
	for (size_t i = 0; unit == SBX_UNIT_BYTES && value > 0 && i < 3; i++) {
		if (value % steps[i].factor == 0) {
			snprintf(ret, size, "%llu%s", (unsigned long long)(value / steps[i].factor),
				 steps[i].name);
			return;
		}
	}
	snprintf(ret, size, "%llu", (unsigned long long)value);
}
