/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "complain.h"

#include <string.h>

/* "--version" and "--help" are what people try first. */
static const char *command_name(const char *text)
{
	if (strcmp(text, "--version") == 0)
		return "version";
	if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0)
		return "help";
	return text;
}

int main(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2) {
		complain("no command; try: llm-sandbox help");
		return STATUS_USAGE;
	}
	c = command_find(command_name(argv[1]));
	if (c == NULL) {
		complain("unknown command '%.64s'; try: llm-sandbox help", argv[1]);
		return STATUS_USAGE;
	}
	return c->run(c, argc - 1, argv + 1);
}
