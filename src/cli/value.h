/* SPDX-License-Identifier: MIT */
/*
 * Numbers as people write them, in the unit of a limit: "512M", "1.5", "250ms", "none". Pure.
 * K, M, G and T are powers of 1024, with or without "B" or "iB" behind them; a duration without
 * a unit is in seconds; "none" is 0 where the limit can be 0.
 */
#pragma once

#include <llmsandbox/spec.h>

#define VALUE_TEXT_MAX 32

/* Parse and check the range; the error's sentence names the value and the range. */
int value_parse(const struct sbx_limit_info *info, const char *text, uint64_t *ret,
		struct sbx_error *err);

/* The shortest exact form that value_parse() reads back. */
void value_format(enum sbx_unit unit, uint64_t value, char ret[VALUE_TEXT_MAX]);

/* A size for people: "12.3K". */
void value_round(uint64_t bytes, char ret[VALUE_TEXT_MAX]);

/* What the argument of such an option is called in help: "SIZE". */
const char *value_argument(enum sbx_unit unit);

/*
 * The same for a limit of the library. "none" is SBX_TIMEOUT_NONE for the time of a run, and 0
 * is 0, unset.
 */
int value_parse_limit(enum sbx_limit limit, const char *text, uint64_t *ret,
		      struct sbx_error *err);

/* Whether the limit is the time of a run, for which there may be none. */
bool value_may_be_none(enum sbx_limit limit);
