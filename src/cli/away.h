/* SPDX-License-Identifier: MIT */
/* Files that are in a session and called NAME:PATH on the command line. */
#pragma once

#include "cli/client.h"
#include "cli/names.h"
#include "cli/output.h"

struct away {
	char name[NAME_SIZE];
	const char *path; /* "." where the word has none; belongs to the word */
};

/* Take "NAME:PATH" apart; SBX_E_INVALID for what is none. */
int away_parse(const char *word, struct away *ret, struct sbx_error *err);

/* Print the file that the word names, whole. */
int away_read(const char *word, struct output *output, struct sbx_error *err);
