/* SPDX-License-Identifier: MIT */
/* Names of sessions, and of files in them: NAME:PATH. Pure, but for the dice. */
#pragma once

#include <stdbool.h>

#define NAME_SIZE 64 /* with the NUL */

/* Letters, digits, and inside also . _ - ; at most 63 of them. */
bool name_is_good(const char *name);

/* What a name must be, for sentences. */
#define NAME_RULE "letters, digits, '.', '_' and '-', beginning with a letter or digit, at most 63"

/* One for a session that was given none; false without randomness. It may be taken already. */
bool name_make(char ret[NAME_SIZE]);

/*
 * "NAME:PATH" as its two parts: the name is copied, the path, which may be empty, is that of
 * word. False for what is no such thing: a slash before the colon makes it a file of ours.
 */
bool name_split(const char *word, char ret_name[NAME_SIZE], const char **ret_path);
