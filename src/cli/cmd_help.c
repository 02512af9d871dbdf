/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "complain.h"

#include <stdio.h>

static void print_overview(void)
{
	const struct command *c;

	printf("LLM Sandbox runs code that a language model wrote, in an isolated place, and gives\n"
	       "back what happened.\n\nUsage: llm-sandbox COMMAND [OPTIONS] …\n\nCommands:\n");
	for (size_t i = 0; (c = command_at(i)) != NULL; i++)
		printf("  %-10s %s\n", c->name, c->summary);
	printf("\nTry:\n  llm-sandbox run -l python -c 'print(6 * 7)'\n"
	       "  llm-sandbox help run\n\nExit status: the program's own; %d: its time was over; "
	       "%d: the sandbox failed;\n%d: wrong usage.\n",
	       STATUS_TIMEOUT, STATUS_FAILURE, STATUS_USAGE);
}

static int run(const struct command *self, int argc, char **argv)
{
	const struct command *c;

	(void)self;
	if (argc < 2) {
		print_overview();
		return STATUS_OK;
	}
	c = command_find(argv[1]);
	if (c == NULL) {
		complain("unknown command '%.64s'; try: llm-sandbox help", argv[1]);
		return STATUS_USAGE;
	}
	command_print_help(c);
	return STATUS_OK;
}

const struct command cmd_help = {
	.name = "help",
	.usage = "help [COMMAND]",
	.summary = "Say what the commands do.",
	.run = run,
};
