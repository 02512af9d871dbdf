/* SPDX-License-Identifier: MIT */
/*
 * Lines that somebody types: edited, with a history that is kept in the user's state folder, one
 * line an entry, readable by the user alone. Where stdin is no terminal, its lines as they come.
 */
#pragma once

#include <llmsandbox/error.h>

#include <stdbool.h>

struct lines;

enum line_end {
	LINE_GOOD,
	LINE_OVER,	  /* stdin is at its end: Ctrl-D */
	LINE_INTERRUPTED, /* Ctrl-C */
	LINE_SIGNALLED,	  /* we are to end: SIGTERM, SIGHUP; *ret_signal */
};

/* A history of its own for each `topic`, one component. Without a state folder there is none. */
int lines_open(const char *topic, struct lines **ret, struct sbx_error *err);

/* Whether somebody types them. */
bool lines_are_typed(const struct lines *lines);

/*
 * Read one behind the prompt; the caller frees *ret, which ends with a line feed unless stdin
 * ended without one. Lines that are pasted come together.
 */
enum line_end lines_read(struct lines *lines, const char *prompt, char **ret, int *ret_signal);

/* Add each of these lines to the history, here and in its file. */
void lines_remember(struct lines *lines, const char *text);

void lines_close(struct lines *lines);
