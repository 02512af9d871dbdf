/* SPDX-License-Identifier: MIT */
/*
 * The MCP server is a program of its own, llm-sandbox-mcp, because its libraries would make
 * every start of this one slower. Its options are rows of our table, so a mistake is told here
 * as it would be there; then it takes our place.
 */
#include "cli/beside.h"
#include "cli/command.h"
#include "cli/mcp_install.h"
#include "cli/trouble.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SERVER "llm-sandbox-mcp"

static int count(char **words)
{
	int n = 0;

	while (words[n] != NULL)
		n++;
	return n;
}

static int exec_server(char **words)
{
	char path[PATH_MAX];
	auto_free char **argv = calloc((size_t)count(words) + 2, sizeof(*argv));

	if (argv == NULL) {
		cli_say("out of memory");
		return STATUS_TROUBLE;
	}
	argv[0] = (char *)SERVER;
	memcpy(argv + 1, words, (size_t)count(words) * sizeof(*argv));
	if (beside_find(SERVER, path))
		execv(path, argv);
	execvp(SERVER, argv);
	cli_say("cannot start '%s', the MCP server: %s; it belongs beside llm-sandbox or in PATH",
		SERVER, strerror(errno));
	return STATUS_TROUBLE;
}

static int run(const struct invocation *inv)
{
	struct sbx_error err;

	if (inv->rest[0] != NULL && strcmp(inv->rest[0], "install") == 0)
		return mcp_install(count(inv->rest), inv->rest);
	if (inv->rest[0] == NULL)
		return exec_server(inv->words);
	cli_fail(&err, SBX_E_INVALID, "'%.64s' is neither an option nor 'install'", inv->rest[0]);
	return cli_usage(&err, inv->command->name);
}

const struct command cmd_mcp = {
	.name = "mcp",
	.bit = FOR_MCP,
	.arguments = "[OPTIONS] | install --client CLIENT [OPTIONS]",
	.summary = "serve sandboxes to MCP clients, or set a client up for it",
	.text = "Serves the Model Context Protocol on stdin and stdout, or with --http over HTTP,\n"
		"until stdin ends or SIGTERM comes. It is the program llm-sandbox-mcp.\n"
		"\n"
		"The network's options are the most that a model may ask for; without them it\n"
		"gets none.\n"
		"\n"
		"'llm-sandbox mcp install --client CLIENT' makes a client start it;\n"
		"'llm-sandbox mcp install --help' lists clients and options.\n",
	.run = run,
};
