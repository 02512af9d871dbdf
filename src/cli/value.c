/* SPDX-License-Identifier: MIT */
#include "cli/value.h"

#include "cli/trouble.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define KIB 1024.0

struct suffix {
	const char *text;
	double factor;
};

struct unit {
	const char *argument;
	const char *what; /* behind "'x' is no …" */
	struct suffix suffixes[12];
};

static const struct unit units[] = {
	[SBX_UNIT_COUNT] = {"COUNT", "whole number", {{"", 1}}},
	[SBX_UNIT_BYTES] = {"SIZE",
			    "size, such as 65536, 64K, 512M or 1G",
			    {{"", 1},
			     {"b", 1},
			     {"k", KIB},
			     {"kb", KIB},
			     {"kib", KIB},
			     {"m", KIB * KIB},
			     {"mb", KIB * KIB},
			     {"mib", KIB * KIB},
			     {"g", KIB * KIB * KIB},
			     {"gb", KIB * KIB * KIB},
			     {"gib", KIB * KIB * KIB},
			     {"t", KIB * KIB * KIB * KIB}}},
	[SBX_UNIT_MS] = {"TIME",
			 "time, such as 500ms, 30s, 2m or 1h",
			 {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60e3}, {"h", 3600e3}}},
	[SBX_UNIT_MILLI] = {"NUMBER", "number, such as 2 or 0.5", {{"", 1000}}},
};

const char *value_argument(enum sbx_unit unit)
{
	return units[unit].argument;
}

/* Length of "12" or "12.5" at the start of text; 0 when there is none. */
static size_t number_length(const char *text, bool fraction)
{
	size_t whole = strspn(text, "0123456789"), rest;

	if (whole == 0 || text[whole] != '.' || !fraction)
		return whole;
	rest = strspn(text + whole + 1, "0123456789");
	return rest > 0 ? whole + 1 + rest : 0;
}

static bool find_factor(const struct unit *unit, const char *text, double *ret)
{
	size_t count = sizeof(unit->suffixes) / sizeof(unit->suffixes[0]);

	for (size_t i = 0; i < count && unit->suffixes[i].text != NULL; i++) {
		if (strcasecmp(text, unit->suffixes[i].text) == 0) {
			*ret = unit->suffixes[i].factor;
			return true;
		}
	}
	return false;
}

static bool parse(const struct sbx_limit_info *info, const char *text, double *ret)
{
	size_t len = number_length(text, info->unit != SBX_UNIT_COUNT);
	double factor;

	if (strcasecmp(text, "none") == 0 && info->least == 0) {
		*ret = 0;
		return true;
	}
	/* Longer than any number in range; also keeps strtod() fast. */
	if (len == 0 || len > 32 || !find_factor(&units[info->unit], text + len, &factor))
		return false;
	*ret = strtod(text, NULL) * factor; /* what it reads ends where number_length() does */
	return true;
}

int value_parse(const struct sbx_limit_info *info, const char *text, uint64_t *ret,
		struct sbx_error *err)
{
	char least[VALUE_TEXT_MAX], most[VALUE_TEXT_MAX];
	double value;

	value_format(info->unit, info->least, least);
	value_format(info->unit, info->most, most);
	if (!parse(info, text, &value))
		return cli_fail(err, SBX_E_INVALID, "'%.64s' is no %s; it goes from %s to %s", text,
				units[info->unit].what, least, most);
	if (value > (double)info->most || value < (double)info->least)
		return cli_fail(err, SBX_E_INVALID, "'%.64s' is out of range; it goes from %s to %s",
				text, least, most);
	/* Next to nothing must not become 0, which means "no limit". */
	*ret = value > 0 && value < 1 ? 1 : (uint64_t)(value + 0.5);
	return 0;
}

bool value_may_be_none(enum sbx_limit limit)
{
	return limit == SBX_LIMIT_WALL_MS || limit == SBX_LIMIT_EXECUTION_MS;
}

int value_parse_limit(enum sbx_limit limit, const char *text, uint64_t *ret,
		      struct sbx_error *err)
{
	const struct sbx_limit_info *info = sbx_limit_describe(limit);
	double value;

	if (value_may_be_none(limit) && strcasecmp(text, "none") == 0) {
		*ret = SBX_TIMEOUT_NONE;
		return 0;
	}
	if (value_may_be_none(limit) && parse(info, text, &value) && value == 0) {
		*ret = 0;
		return 0;
	}
	return value_parse(info, text, ret, err);
}

/* The largest suffix of the list that divides value. */
static void format_divided(const struct suffix *list, uint64_t value, char ret[VALUE_TEXT_MAX])
{
	while (value % (uint64_t)list->factor != 0)
		list++;
	snprintf(ret, VALUE_TEXT_MAX, "%llu%s",
		 (unsigned long long)(value / (uint64_t)list->factor), list->text);
}

void value_format(enum sbx_unit unit, uint64_t value, char ret[VALUE_TEXT_MAX])
{
	static const struct suffix sizes[] = {{"T", KIB * KIB * KIB * KIB}, {"G", KIB * KIB * KIB},
					      {"M", KIB * KIB},		    {"K", KIB},
					      {"", 1}};
	static const struct suffix times[] = {{"h", 3600e3}, {"m", 60e3}, {"s", 1e3}, {"ms", 1}};

	if (unit == SBX_UNIT_MILLI)
		snprintf(ret, VALUE_TEXT_MAX, "%.10g", (double)value / 1000);
	else if (unit == SBX_UNIT_COUNT || value == 0)
		snprintf(ret, VALUE_TEXT_MAX, "%llu", (unsigned long long)value);
	else
		format_divided(unit == SBX_UNIT_MS ? times : sizes, value, ret);
}

void value_round(uint64_t bytes, char ret[VALUE_TEXT_MAX])
{
	static const char letters[] = "BKMGT";
	double value = (double)bytes;
	int unit = 0;

	while (value >= 1024 && unit < 4) {
		value /= 1024;
		unit++;
	}
	snprintf(ret, VALUE_TEXT_MAX, unit ? "%.1f%c" : "%.0f%c", value, letters[unit]);
}
