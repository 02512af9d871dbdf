/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The length of the UTF-8 character at p (RFC 3629: no overlong form, no surrogate), 0 when
 * the bytes are the beginning of one, -1 when they are none. len is at least 1.
 */
int utf8_length(const unsigned char *p, size_t len);

/* A copy in which U+FFFD stands for each byte that is no UTF-8; free() it. NULL without memory. */
char *utf8_replace(const char *bytes, bool *ret_changed);
