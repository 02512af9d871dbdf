/* SPDX-License-Identifier: MIT */
/*
 * The words behind a command's name, taken apart by getopt_long(3) with the command's share of
 * the option table. The first word that is no option ends the options: what follows belongs to
 * the program.
 */
#pragma once

#include "cli/command.h"

/* argv[0] is the command's name. The caller frees ret->given. */
int parse_words(const struct command *command, int argc, char **argv, struct invocation *ret,
	       struct sbx_error *err);
