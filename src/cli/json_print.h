/* SPDX-License-Identifier: MIT */
/* New JSON in the hand of the file that it goes into. */
#pragma once

#include "cli/edits.h"

#include <jansson.h>
#include <stdio.h>

struct json_style {
	const char *line_end; /* NULL: all on one line */
	const char *colon;    /* ": " or ":" */
	const char *comma;    /* ", " or ",", where no line ends */
	const char *unit;     /* of indentation; unit_len bytes, not a string */
	size_t unit_len;
};

/* Indentation of a line: the bytes that it begins with, and some units more. */
struct json_indent {
	const char *base;
	size_t base_len;
	unsigned int units;
};

void json_print_indent(FILE *f, const struct json_style *style, struct json_indent indent);

/* indent is that of the line that the value begins on. Arrays stay on one line. */
void json_print_value(FILE *f, const json_t *value, const struct json_style *style,
		      struct json_indent indent);

void json_print_string(FILE *f, const char *text);
