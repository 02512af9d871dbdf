/* SPDX-License-Identifier: MIT */
/* Stands in until the server's own command is here: it has `mcp install` alone. */
#include "cli/command.h"
#include "cli/mcp_install.h"
#include "cli/trouble.h"

#include <string.h>

static int count(char **words)
{
	int n = 0;

	while (words[n] != NULL)
		n++;
	return n;
}

static int run(const struct invocation *inv)
{
	struct sbx_error err;

	if (inv->rest[0] != NULL && strcmp(inv->rest[0], "install") == 0)
		return mcp_install(count(inv->rest), inv->rest);
	cli_fail(&err, SBX_E_INVALID, "only 'llm-sandbox mcp install' is here so far");
	return cli_usage(&err, inv->command->name);
}

const struct command cmd_mcp = {
	.name = "mcp",
	.bit = FOR_MCP,
	.arguments = "install --client CLIENT [OPTIONS] [-- ARGUMENTS]",
	.summary = "make an MCP client start our server",
	.text = "'llm-sandbox mcp install --help' lists clients and options.\n",
	.run = run,
};
