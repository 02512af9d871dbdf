/* SPDX-License-Identifier: MIT */
/*
 * A command is one const entry in its own cmd_*.c and one line of command.c's table.
 */
#pragma once

#include "cli/options.h"

/* One flag as it was given; it is set after the configuration, because flags win. */
struct given {
	const struct option_row *option;
	const char *value; /* NULL for flags without one */
};

/* A parsed command line. Strings belong to argv. */
struct invocation {
	const struct command *command;
	struct given *given;
	size_t given_count;
	char **words;	/* all behind the command's name, as it came */
	char **rest;	/* what is not an option, NULL-terminated */
	bool separated; /* "--" stood before rest */
};

struct command {
	const char *name;	 /* "run", or of two words "session start" */
	unsigned int bit;	 /* its bit of option_row.commands */
	const char *arguments;	 /* behind the name in "Usage:" */
	const char *summary;	 /* one line */
	bool mixes;		 /* options may stand behind words too */
	bool hidden;		 /* nothing for people */
	const char *text;	 /* paragraphs of help, wrapped by hand at 80 */
	int (*run)(const struct invocation *inv); /* returns the exit status */
};

/* The n-th command, or NULL past the last. */
const struct command *command_at(size_t n);
const struct command *command_find(const char *name);

/* Whether its name is of two words, of which this is the first. */
bool command_is_in(const struct command *command, const char *first);

/* Whether there are such commands. */
bool command_is_family(const char *first);

/* The whole program: find the command, parse its line, run it. Returns the exit status. */
int command_main(int argc, char **argv);

/* Settings of a command without a sandbox: the flags alone. */
int command_flags(const struct invocation *inv, struct settings *ret, struct sbx_error *err);

/* Settings of a sandbox: files, environment, flags, in that order. */
int command_settings(const struct invocation *inv, struct settings *ret, struct sbx_error *err);

extern const struct command cmd_run, cmd_exec, cmd_repl, cmd_session_start, cmd_session_list,
	cmd_kernel_list, cmd_kernel_interrupt, cmd_kernel_restart, cmd_kernel_reset,
	cmd_kernel_end, cmd_session_stop, cmd_session_logs, cmd_session_kill, cmd_cp, cmd_ls, cmd_cat,
	cmd_lib_add, cmd_lib_list, cmd_lib_remove, cmd_lib_lock, cmd_lib_verify,
	cmd_image_build, cmd_image_import, cmd_image_list, cmd_image_remove,
	cmd_languages, cmd_doctor, cmd_version, cmd_mcp, cmd_help, cmd_holder;
