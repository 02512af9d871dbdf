/* SPDX-License-Identifier: MIT */
/*
 * Whether lines that somebody types are a whole cell yet, judged from brackets, strings and the
 * words that open a block. It is a guess for the comfort of typing; what is sent is judged by the
 * interpreter. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum cell_state {
	CELL_WHOLE,
	CELL_BLOCK,  /* could be, but more of the block may come: an empty line ends it */
	CELL_OPEN,   /* something is open; two empty lines send it all the same */
	CELL_STRING, /* within a string of several lines, where empty lines mean themselves */
};

/* Lines of a language, by its id; each ends with a line feed. */
enum cell_state cell_look(const char *language, const char *text, size_t len);

/* Whether a line stands between two cells of a file: "# %%" or "// %%", and what follows. */
bool cell_is_border(const char *line);

/* What begins such a line in this language: "#" or "//". */
const char *cell_comment(const char *language);
