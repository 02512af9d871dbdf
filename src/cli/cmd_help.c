/* SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "cli/help.h"
#include "cli/trouble.h"

#include <stdio.h>
#include <unistd.h>

/* The name may come as two words. */
static int help_for(char **words)
{
	char name[64];
	const struct command *command;
	struct sbx_error err;

	snprintf(name, sizeof(name), "%s%s%s", words[0], words[1] ? " " : "",
		 words[1] ? words[1] : "");
	if (command_is_family(name))
		return help_family(STDOUT_FILENO, name);
	command = command_find(name);
	if (command != NULL)
		return help_command(STDOUT_FILENO, command);
	cli_fail(&err, SBX_E_INVALID, "there is no command '%.64s'", name);
	return cli_usage(&err, NULL);
}

static int run(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;

	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	if (settings.options)
		return help_dump(STDOUT_FILENO);
	return inv->rest[0] ? help_for(inv->rest) : help_overview(STDOUT_FILENO);
}

const struct command cmd_help = {
	.name = "help",
	.bit = FOR_HELP,
	.arguments = "[COMMAND]",
	.summary = "explain a command and its options",
	.text = "",
	.run = run,
};
