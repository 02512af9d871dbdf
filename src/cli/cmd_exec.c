/* SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/trouble.h"

static int exec_command(struct sbx_session *session, const struct sbx_io *io, void *userdata,
			struct sbx_result **ret, struct sbx_error *err)
{
	struct sbx_command command = {.argv = userdata, .io = *io};

	return sbx_session_exec(session, &command, ret, err);
}

static int run(const struct invocation *inv)
{
	struct execution execution = {
		.language = "none",
		.run = exec_command,
		.userdata = inv->rest,
		.use_stdin = true,
	};
	struct settings settings;
	struct sbx_error err;
	int status;

	if (command_settings(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	if (inv->rest[0] == NULL && !settings.dry_run) {
		cli_fail(&err, SBX_E_INVALID, "no command to run; write: llm-sandbox exec -- COMMAND");
		status = execute_fail(&settings, &err);
	} else {
		status = execute(&settings, &execution);
	}
	settings_done(&settings);
	return status;
}

const struct command cmd_exec = {
	.name = "exec",
	.bit = FOR_EXEC,
	.arguments = "[OPTIONS] -- COMMAND [ARGUMENTS]",
	.summary = "run a command of this machine in a fresh sandbox",
	.text = "Runs COMMAND, which is looked up in the sandbox's PATH, without a shell. It\n"
		"reads our stdin. The exit status is as with 'run'.\n",
	.run = run,
};
