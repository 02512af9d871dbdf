/* SPDX-License-Identifier: MIT */
/* The process that holds sessions, as 'session start' starts it: not for people. */
#include "cli/command.h"
#include "cli/holder.h"
#include "cli/trouble.h"

#include <fcntl.h>
#include <sys/stat.h>

#define READY_FD 3

/* A pipe there is our starter's; who starts us by hand gets our words on stderr. */
static int find_ready_fd(void)
{
	struct stat st;

	if (fstat(READY_FD, &st) < 0 || !S_ISFIFO(st.st_mode))
		return -1;
	fcntl(READY_FD, F_SETFD, FD_CLOEXEC);
	return READY_FD;
}

static int run(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;

	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	return holder_run(settings.holder_idle_ms ? settings.holder_idle_ms
						  : SETTINGS_HOLDER_IDLE_MS,
			  find_ready_fd());
}

const struct command cmd_holder = {
	.name = "holder",
	.bit = FOR_HOLDER,
	.arguments = "[OPTIONS]",
	.summary = "hold the sessions",
	.hidden = true,
	.text = "",
	.run = run,
};
