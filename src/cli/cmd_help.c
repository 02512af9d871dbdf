/* SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "cli/help.h"
#include "cli/trouble.h"

#include <unistd.h>

static int help_for(const char *name)
{
	const struct command *command = command_find(name);
	struct sbx_error err;

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
	return inv->rest[0] ? help_for(inv->rest[0]) : help_overview(STDOUT_FILENO);
}

const struct command cmd_help = {
	.name = "help",
	.bit = FOR_HELP,
	.arguments = "[COMMAND]",
	.summary = "explain a command and its options",
	.text = "",
	.run = run,
};
