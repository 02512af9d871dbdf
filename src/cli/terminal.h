/* SPDX-License-Identifier: MIT */
/*
 * Output of a sandbox made safe for a terminal: colours (SGR), newline, tab and carriage return
 * pass; every other control character and escape sequence, which could retitle the window,
 * answer on our keyboard's behalf or hide what was printed, becomes visible: ^[ or \x9b.
 *
 *	struct terminal t = {0};
 *	terminal_filter(&t, data, len, &text, &text_len);	// any number of times
 *	terminal_finish(&t, &text, &text_len);
 *
 * A sequence that a chunk's end cuts waits in `held` for the next one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TERMINAL_HELD_MAX 64

struct terminal {
	unsigned char held[TERMINAL_HELD_MAX];
	size_t held_len;
	bool colored; /* a colour was set: the end resets it */
};

/* The text to write, which the caller frees; false without memory. */
bool terminal_filter(struct terminal *t, const void *data, size_t len, char **ret,
		     size_t *ret_len);

/* The whole of a text, made safe, to a stream. */
void terminal_print(const char *text, size_t len, FILE *stream);

/* What was held, and the reset of colours. */
bool terminal_finish(struct terminal *t, char **ret, size_t *ret_len);
