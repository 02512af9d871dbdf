/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/*
 * The length of the UTF-8 character at p (RFC 3629: no overlong form, no surrogate), 0 when
 * the bytes are the beginning of one, -1 when they are none. len is at least 1.
 */
int utf8_length(const unsigned char *p, size_t len);
