/* SPDX-License-Identifier: MIT */
/*
 * Where things stand in a TOML text: its statements (headers and settings) as byte offsets, and
 * how each relates to one table. Knows strings of all four kinds, comments, arrays and inline
 * tables, as TOML 1.0 has them (line breaks in inline tables pass, as in 1.1); what values mean
 * is not looked at. Pure.
 */
#pragma once

#include "cli/edits.h"

#define TOML_STATEMENTS_MAX 65536u
#define TOML_DEPTH_MAX	    64

/* "a.b.c" of a header, or of a setting with its header's in front. */
struct toml_path {
	unsigned int parts;
	unsigned int matched; /* how many of the first two are those that were asked for */
};

struct toml_statement {
	size_t start, end; /* its lines: from the first one's beginning to behind the line end */
	unsigned int line;
	bool is_header, is_array; /* "[a]", "[[a]]" */
	struct toml_path path;
};

struct toml_scan {
	struct toml_statement *list; /* owned */
	size_t count, capacity;
};

/* wanted: the first two parts of the paths to match. Errors begin with "line N: ". */
int toml_scan(const struct text *in, const char *const wanted[2], struct toml_scan *ret,
	      struct sbx_error *err);

void toml_scan_done(struct toml_scan *scan);
