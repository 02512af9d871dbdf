/* SPDX-License-Identifier: MIT */
/* The commands as a table: one cmd_*.c each, with one const entry. */
#pragma once

#include "options.h"

struct command {
	const char *name;
	const char *usage;   /* behind "llm-sandbox " */
	const char *summary; /* one line */
	unsigned int options; /* FOR_… bits */
	/* argv[0] is the command's name. Returns the exit status. */
	int (*run)(const struct command *self, int argc, char **argv);
};

extern const struct command cmd_run, cmd_exec, cmd_languages, cmd_doctor, cmd_version, cmd_help;

/* The n-th command, or NULL past the last. */
const struct command *command_at(size_t n);
const struct command *command_find(const char *name);

/* What a command does and takes, on stdout. */
void command_print_help(const struct command *c);
