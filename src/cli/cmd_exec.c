/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "complain.h"
#include "perform.h"

static int run(const struct command *self, int argc, char **argv)
{
	static struct options o;
	struct performance p = {.options = &o};
	bool ended;
	int first = spec_from_command(self->options, argc, argv, &o, &p.spec, &ended);

	if (first < 0)
		return perform_end(&p, STATUS_USAGE);
	if (first == 0) {
		command_print_help(self);
		return STATUS_OK;
	}
	if (first == argc) {
		complain("no command to run; try: llm-sandbox exec -- ls -l /");
		return perform_end(&p, STATUS_USAGE);
	}
	p.command.argv = (const char *const *)argv + first;
	p.command.io.use_stdin_fd = true;
	return perform(&p);
}

const struct command cmd_exec = {
	.name = "exec",
	.usage = "exec [OPTIONS] -- COMMAND [ARGS]",
	.summary = "Run a command of the sandbox in a fresh sandbox.",
	.options = FOR_EXEC,
	.run = run,
};
