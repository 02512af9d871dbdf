/* SPDX-License-Identifier: MIT */
/*
 * One entry of a configuration file that belongs to others: set or removed in its text, so that
 * all else stays byte for byte: comments, order, indentation, line ends. A format is a const
 * table of functions; they are pure.
 *
 * An entry is text in the format's own language: a JSON object, or the lines of a TOML table.
 * Errors begin with "line N: " where a line is to blame, and nothing is returned then.
 */
#pragma once

#include "cli/edits.h"

#include <jansson.h>

/* The entry is table.name: "mcpServers" and "llm-sandbox". */
struct splice_place {
	const char *table;
	const char *name; /* of letters, digits, '-' and '_' */
};

struct splice_format {
	/* The entry's text from an object of strings, arrays of strings and objects of strings. */
	char *(*format)(const json_t *value);

	/* The whole new text; ret->data is NULL when there is nothing to change. */
	int (*set)(const struct text *in, const struct splice_place *place, const char *entry,
		   struct text *ret, struct sbx_error *err);
	int (*remove)(const struct text *in, const struct splice_place *place, struct text *ret,
		      struct sbx_error *err);

	/* The entry that is there, as set() takes it; NULL when there is none, or no plain one. */
	char *(*get)(const struct text *in, const struct splice_place *place);
};

extern const struct splice_format json_splice, toml_splice;

/* The line end of a text, from its first line: "\r\n" or "\n". */
const char *splice_line_end(const struct text *in);

/* Number of the line that at stands in, from 1. */
unsigned int splice_line(const char *text, size_t at);
