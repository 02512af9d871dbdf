/* SPDX-License-Identifier: MIT */
/*
 * A PNG as sixels. The decoder of what a sandbox made is a process of its own,
 * llm-sandbox-sixel, which can do nothing but read, compute and write; and what it wrote is
 * checked to be sixels and nothing else, so that the terminal gets no other sequence from it.
 */
#pragma once

#include <llmsandbox/error.h>

#include <stdbool.h>
#include <stddef.h>

/* At most `width` pixels wide (0: 800); the caller frees *ret. SBX_E_NOT_FOUND: no such program. */
int sixels_make(const void *png, size_t len, unsigned int width, char **ret, size_t *ret_len,
		struct sbx_error *err);

/* ESC P, numbers, q, printable ASCII and line ends, ESC \ and no more. */
bool sixels_are_sound(const char *text, size_t len);
