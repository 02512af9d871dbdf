/* SPDX-License-Identifier: MIT */
#include "cli/background.h"
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/per_run.h"
#include "cli/trouble.h"

static int exec_with(const struct invocation *inv, const struct settings *s)
{
	struct job job = {.argv = inv->rest, .language = "none", .use_stdin = true};
	struct sbx_error err;
	int status, r = per_run_read(inv, s, &job, &err);

	if (r == 0 && inv->rest[0] == NULL && !s->dry_run)
		r = cli_fail(&err, SBX_E_INVALID,
			     "no command to run; write: llm-sandbox exec -- COMMAND");
	if (r == 0 && s->background && s->session == NULL)
		r = cli_fail(&err, SBX_E_INVALID,
			     "--background needs --session: a fresh sandbox ends with its command");
	if (r == 0 && s->background && s->artifacts != NULL)
		r = cli_fail(
			&err, SBX_E_INVALID,
			"--artifacts is for what ends with its command, and --background does not");
	if (r < 0)
		status = execute_fail(s, &err);
	else
		status = s->background ? background_start(s, &job) : execute(s, &job);
	per_run_done(&job);
	return status;
}

static int run(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;
	int status;

	if (command_settings(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	status = exec_with(inv, &settings);
	settings_done(&settings);
	return status;
}

const struct command cmd_exec = {
	.name = "exec",
	.bit = FOR_EXEC,
	.arguments = "[OPTIONS] -- COMMAND [ARGUMENTS]",
	.summary = "run a command in a fresh sandbox, or in a session",
	.text = "Runs COMMAND, which is looked up in the sandbox's PATH, without a shell. It\n"
		"reads our stdin. The exit status is as with 'run'.\n"
		"\n"
		"With --session and --background it goes on beside later runs, until it ends,\n"
		"--timeout is over, or the session ends; its stdin is empty.\n",
	.run = run,
};
