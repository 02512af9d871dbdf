/* SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "cli/trouble.h"

#include <llmsandbox/version.h>

#include <stdio.h>

static int run(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;

	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	if (settings.json)
		printf("{\"version\": \"%s\"}\n", sbx_version());
	else
		printf("llm-sandbox %s\n", sbx_version());
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}

const struct command cmd_version = {
	.name = "version",
	.bit = FOR_VERSION,
	.arguments = "[OPTIONS]",
	.summary = "print the version",
	.text = "",
	.run = run,
};
