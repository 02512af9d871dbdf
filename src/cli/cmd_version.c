/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "complain.h"

#include <llmsandbox/version.h>

#include <stdio.h>

static int run(const struct command *self, int argc, char **argv)
{
	(void)self, (void)argc, (void)argv;
	printf("llm-sandbox %s\n", sbx_version());
	return STATUS_OK;
}

const struct command cmd_version = {
	.name = "version",
	.usage = "version",
	.summary = "Print the version.",
	.run = run,
};
