/* SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/signals.h"
#include "cli/source.h"
#include "cli/trouble.h"

#include <stdio.h>

static int run_source(struct sbx_session *session, const struct sbx_io *io, void *userdata,
		      struct sbx_result **ret, struct sbx_error *err)
{
	const struct source *source = userdata;
	struct sbx_run run = {
		.language = source->language->id,
		.code = source->code,
		.code_len = source->code_len,
		.file_name = source->file_name,
		.args = (const char *const *)source->args,
		.io = *io,
	};

	return sbx_session_run(session, &run, ret, err);
}

/* Without it the language is slower and nothing else, so a failure is no matter here. */
static void prepare(const struct sbx_language_info *language)
{
	struct sbx_error ignored;
	char line[128];

	snprintf(line, sizeof(line), "preparing %s, once on this machine, up to a minute ...\n",
		 language->title);
	signals_say_later(line);
	sbx_language_prepare(language->id, &ignored);
	signals_be_quiet();
}

static int run_with(const struct invocation *inv, const struct settings *s)
{
	struct source source;
	struct execution execution = {.run = run_source, .userdata = &source};
	struct sbx_error err;
	int status;

	if (source_read(inv, s, &source, &err) < 0)
		return execute_fail(s, &err);
	if (!s->dry_run)
		prepare(source.language);
	execution.language = source.language->id;
	execution.use_stdin = !source.from_stdin;
	status = execute(s, &execution);
	free(source.code);
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
	.summary = "run code in a fresh sandbox",
	.text = "Runs the code of FILE, of stdin (- or no FILE) or of -c CODE. The language is\n"
		"guessed from the file name, or given with -l. What follows FILE, or --, are the\n"
		"program's arguments. The program reads our stdin unless the code came from it.\n"
		"\n"
		"The exit status is the program's own (128+N when signal N ended it), 124 when it\n"
		"ran out of time, 125 when the sandbox failed, 2 when the request is malformed.\n",
	.run = run,
};
