/* SPDX-License-Identifier: MIT */
/* Help as text of 80 columns, made from the tables of commands and options. Returns the exit
 * status. */
#pragma once

#include "cli/command.h"

int help_overview(int fd);

/* The commands whose first word this is, "session". */
int help_family(int fd, const char *first);
int help_command(int fd, const struct command *command);

/* For programs: "command TAB --name TAB -x TAB ARGUMENT" per option, "command" without any. */
int help_dump(int fd);
