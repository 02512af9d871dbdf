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
	&cmd_run, &cmd_exec, &cmd_languages, &cmd_doctor, &cmd_mcp, &cmd_version, &cmd_help,
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

	for (size_t i = 0; (command = command_at(i)) != NULL; i++)
		closest_offer(&closest, command->name);
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

int command_main(int argc, char **argv)
{
	struct invocation inv;
	struct sbx_error err;
	const struct command *command;
	int status;

	if (argc < 2) {
		help_overview(STDERR_FILENO);
		return STATUS_USAGE;
	}
	command = command_find(command_word(argv[1]));
	if (command == NULL)
		return fail_unknown(argv[1]);
	if (parse_line(command, argc - 1, argv + 1, &inv, &err) < 0)
		return cli_usage(&err, command->name);
	status = asks_help(&inv) ? help_command(STDOUT_FILENO, command) : command->run(&inv);
	free(inv.given);
	return status;
}
