/* SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/per_run.h"
#include "cli/trouble.h"

static int check_kernel(const struct settings *s, const struct source *source,
			struct sbx_error *err)
{
	if (s->kernel == NULL)
		return 0;
	if (s->session == NULL)
		return cli_fail(err, SBX_E_INVALID,
				"--kernel needs --session: a fresh sandbox ends with its code, and "
				"the kernel's state with it");
	if (source->args[0] != NULL)
		return cli_fail(err, SBX_E_INVALID, "a cell of a kernel has no arguments");
	return 0;
}

static int run_source(const struct settings *s, const struct source *source, struct job *job)
{
	/* A session has the caches that were there when it started. */
	if (!s->dry_run && s->session == NULL)
		source_prepare(source->language);
	job->source = source;
	job->libraries = s->libraries;
	job->language = source->language->id;
	job->kernel = s->kernel;
	job->use_stdin = !source->from_stdin && s->kernel == NULL;
	return execute(s, job);
}

static int run_with(const struct invocation *inv, const struct settings *s)
{
	struct source source = {0};
	struct job job = {0};
	struct sbx_error err;
	int status, r = per_run_read(inv, s, &job, &err);

	if (r == 0)
		r = source_read(inv, s, &source, &err);
	if (r == 0)
		r = check_kernel(s, &source, &err);
	status = r < 0 ? execute_fail(s, &err) : run_source(s, &source, &job);
	free(source.code);
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
	status = run_with(inv, &settings);
	settings_done(&settings);
	return status;
}

const struct command cmd_run = {
	.name = "run",
	.bit = FOR_RUN,
	.arguments = "[OPTIONS] [FILE | - | -c CODE] [--] [ARGUMENTS]",
	.summary = "run code in a fresh sandbox, or in a session",
	.text = "Runs the code of FILE, of stdin (- or no FILE) or of -c CODE. The language is\n"
		"guessed from the file name, or given with -l. What follows FILE, or --, are the\n"
		"program's arguments. The program reads our stdin unless the code came from it.\n"
		"\n"
		"The exit status is the program's own (128+N when signal N ended it), 124 when it\n"
		"ran out of time, 125 when the sandbox failed, 2 when the request is malformed.\n",
	.run = run,
};
