/* SPDX-License-Identifier: MIT */
/*
 * Pictures in a terminal: kitty's protocol, iTerm2's, or sixel, whatever it says that it has.
 * What the sandbox made gets to it as base64, or as what our decoder made of it; never as it is.
 *
 *	struct screen screen;
 *	screen_look(&screen);			asks the terminal, once
 *	screen_show(&screen, data, len, err)	for each picture
 */
#pragma once

#include <llmsandbox/error.h>

#include <stdbool.h>
#include <stddef.h>

enum screen_way {
	SCREEN_NONE,
	SCREEN_KITTY,
	SCREEN_ITERM,
	SCREEN_SIXEL
};

struct screen {
	enum screen_way way;
	unsigned int columns, width; /* of the terminal, in cells and pixels; 0: not known */
};

/*
 * Find out what the terminal on stdout can do. It is asked, and has a second to answer; none is
 * asked whose foreground is not ours.
 */
void screen_look(struct screen *ret);

/*
 * Write a picture to stdout. SBX_E_INVALID: it is no picture that this terminal can show, with
 * the reason.
 */
int screen_show(const struct screen *screen, const void *data, size_t len, struct sbx_error *err);

/* ---- for tests: what an answer says ---- */

/* The end of the answer to ESC [ c was seen. */
bool screen_answer_is_whole(const char *answer, size_t len);
enum screen_way screen_answer_way(const char *answer, size_t len);
