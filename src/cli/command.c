/* SPDX-License-Identifier: MIT */
#include "cli/command.h"

#include "cli/closest.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/parse.h"
#include "cli/trouble.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
	&cmd_run,	    &cmd_exec,	       &cmd_repl,
	&cmd_session_start, &cmd_session_list, &cmd_session_stop,
	&cmd_session_logs,  &cmd_session_kill,
	&cmd_kernel_list,   &cmd_kernel_interrupt, &cmd_kernel_restart,
	&cmd_kernel_reset,  &cmd_kernel_end,
	&cmd_cp,	    &cmd_ls,	       &cmd_cat,
	&cmd_lib_add,	    &cmd_lib_list,     &cmd_lib_remove,
	&cmd_lib_lock,	    &cmd_lib_verify,
	&cmd_image_build,   &cmd_image_import,
	&cmd_image_list,    &cmd_image_remove,
	&cmd_languages,	    &cmd_doctor,       &cmd_mcp,
	&cmd_version,	    &cmd_help,	       &cmd_holder,
};

const struct command *command_at(size_t n)
{
	return n < sizeof(commands) / sizeof(commands[0]) ? commands[n] : NULL;
}

const struct command *command_find(const char *name)
{
	const struct command *command;

	for (size_t i = 0; (command = command_at(i)) != NULL; i++) {
		if (strcmp(command->name, name) == 0)
			return command;
	}
	return NULL;
}

bool command_is_in(const struct command *command, const char *first)
{
	size_t len = strlen(first);

	return strncmp(command->name, first, len) == 0 && command->name[len] == ' ';
}

bool command_is_family(const char *first)
{
	const struct command *command;

	for (size_t i = 0; (command = command_at(i)) != NULL; i++) {
		if (command_is_in(command, first))
			return true;
	}
	return false;
}

/* ---- settings ---- */

static int set_flags(const struct invocation *inv, struct settings *s, struct sbx_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < inv->given_count; i++) {
		const struct given *g = &inv->given[i];
		char where[64];

		snprintf(where, sizeof(where), "--%s", option_name(g->option));
		r = option_set(g->option, s, g->value, where, err);
	}
	return r;
}

int command_flags(const struct invocation *inv, struct settings *ret, struct sbx_error *err)
{
	*ret = (struct settings){0};
	return set_flags(inv, ret, err);
}

/* The last --config of the line, or NULL: it must be known before the other flags are set. */
static const char *config_flag(const struct invocation *inv)
{
	const char *path = NULL;

	for (size_t i = 0; i < inv->given_count; i++) {
		if (strcmp(option_name(inv->given[i].option), "config") == 0)
			path = inv->given[i].value;
	}
	return path;
}

int command_settings(const struct invocation *inv, struct settings *ret, struct sbx_error *err)
{
	struct settings s;
	int r = settings_init(&s, err);

	if (r == 0 && inv->command->bit == FOR_START)
		s.wishes = json_array();
	if (r == 0)
		r = config_load(config_flag(inv), &s, err);
	if (r == 0)
		r = config_load_environment(&s, err);
	if (r == 0)
		r = set_flags(inv, &s, err);
	if (r == 0)
		r = settings_finish(&s, err);
	if (r < 0) {
		settings_done(&s);
		return r;
	}
	*ret = s;
	return 0;
}

/* ---- the program ---- */

static bool asks_help(const struct invocation *inv)
{
	for (size_t i = 0; i < inv->given_count; i++) {
		if (strcmp(option_name(inv->given[i].option), "help") == 0)
			return true;
	}
	return false;
}

static int fail_unknown(const char *name)
{
	struct closest closest = {.typed = name};
	struct sbx_error err;
	const struct command *command;

	for (size_t i = 0; (command = command_at(i)) != NULL; i++) {
		if (!command->hidden)
			closest_offer(&closest, command->name);
	}
	cli_fail(&err, SBX_E_INVALID, "there is no command '%.64s'%s", name,
		 closest_hint(&closest, ""));
	return cli_usage(&err, NULL);
}

/* "--help" and "--version" in the place of a command are what people try first. */
static const char *command_word(const char *word)
{
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return "help";
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		return "version";
	return word;
}

/* The command's name may be two words; *ret_words is how many it is. */
static const struct command *find_command(int argc, char **argv, int *ret_words, char *ret_name,
					  size_t size)
{
	*ret_words = 1;
	snprintf(ret_name, size, "%s", command_word(argv[1]));
	if (!command_is_family(ret_name))
		return command_find(ret_name);
	*ret_words = 2;
	snprintf(ret_name, size, "%s%s%s", argv[1], argc > 2 ? " " : "", argc > 2 ? argv[2] : "");
	return command_find(ret_name);
}

static int run_command(const struct command *command, int argc, char **argv)
{
	struct invocation inv;
	struct sbx_error err;
	int status;

	if (parse_words(command, argc, argv, &inv, &err) < 0)
		return cli_usage(&err, command->name);
	status = asks_help(&inv) ? help_command(STDOUT_FILENO, command) : command->run(&inv);
	free(inv.given);
	return status;
}

int command_main(int argc, char **argv)
{
	const struct command *command;
	char name[64];
	int words;

	if (argc < 2) {
		help_overview(STDERR_FILENO);
		return STATUS_USAGE;
	}
	command = find_command(argc, argv, &words, name, sizeof(name));
	if (command != NULL)
		return run_command(command, argc - words, argv + words);
	if (command_is_family(name)) { /* its first word alone */
		help_family(STDERR_FILENO, name);
		return STATUS_USAGE;
	}
	if (words == 2 && command_word(argv[2]) != argv[2])
		return help_family(STDOUT_FILENO, argv[1]);
	return fail_unknown(name);
}
