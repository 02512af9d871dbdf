/* SPDX-License-Identifier: MIT */
#include "cli/away.h"
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/trouble.h"

static int cat_all(const struct settings *s, char **words)
{
	struct output output;
	struct sbx_error err;
	int r = 0;

	output_init(&output, s);
	for (; r == 0 && *words != NULL; words++)
		r = away_read(*words, &output, &err);
	output_finish(&output);
	if (output.failed)
		return execute_output_status(&output);
	return r < 0 ? execute_fail(s, &err) : 0;
}

static int run(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;

	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	if (inv->rest[0] != NULL)
		return cat_all(&settings, inv->rest);
	cli_fail(&err, SBX_E_INVALID, "which file? Write NAME:PATH");
	return cli_usage(&err, inv->command->name);
}

const struct command cmd_cat = {
	.name = "cat",
	.bit = FOR_CAT,
	.arguments = "[OPTIONS] NAME:PATH ...",
	.summary = "print files of a session",
	.mixes = true,
	.text = "PATH is absolute, or relative to the session's work folder. On a terminal,\n"
		"control characters become visible.\n",
	.run = run,
};
