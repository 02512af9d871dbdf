/* SPDX-License-Identifier: MIT */
/*
 * JSON as people and editors write it, with comments, trailing commas and a byte order mark,
 * made into strict JSON of the same length, so that offsets and lines are the same in both.
 *
 * Comments become spaces, a comma that nothing follows a tab. A \u escape that stands for half
 * a character (JavaScript writes those when it cuts a text) or for NUL, which jansson refuses,
 * loses its backslash: only its meaning is lost, and that of no key of ours.
 */
#pragma once

#include "cli/edits.h"

#define JSON_DEPTH_MAX 128

/* The caller frees *ret. Strictness is left to the parser that reads it. */
int json_plain(const struct text *in, char **ret, struct sbx_error *err);
