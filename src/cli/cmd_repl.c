/* SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/per_run.h"
#include "cli/repl.h"
#include "cli/trouble.h"

#include <llmsandbox/kernel.h>

/* In a sandbox of our own, which ends with us. */
static int run_here(struct settings *s, struct job *job)
{
	struct sbx_error err;
	int status;

	source_prepare(sbx_language_find(job->language));
	sbx_spec_use_libraries(s->spec, true);
	sbx_spec_use_support(s->spec, true);
	if (sbx_spec_set_language(s->spec, job->language, &err) < 0 ||
	    sbx_session_open(s->spec, &job->session, &err) < 0)
		return execute_fail(s, &err);
	status = repl_run(s, job);
	sbx_session_close(job->session);
	return status;
}

static int run_with(const struct invocation *inv, struct settings *s)
{
	struct source source = {0};
	struct job job = {.libraries = s->libraries};
	struct sbx_error err;
	int status, r = per_run_read(inv, s, &job, &err);

	if (r == 0)
		r = source_choose_language(s->language ? s->language : "python", &source, &err);
	if (r == 0 && !sbx_language_has_kernel(source.language->id))
		r = cli_fail(&err, SBX_E_INVALID, "%s has no kernel; 'llm-sandbox run' runs it",
			     source.language->title);
	if (r < 0) {
		status = execute_fail(s, &err);
	} else {
		job.language = source.language->id;
		job.kernel = s->kernel ? s->kernel : job.language;
		status = s->dry_run   ? execute_plan(s)
			 : s->session ? repl_run(s, &job)
				      : run_here(s, &job);
	}
	per_run_done(&job);
	return status;
}

static int run(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;
	int status;

	if (inv->rest[0] != NULL) {
		cli_fail(&err, SBX_E_INVALID,
			 "'%.64s' is no option; cells are typed, or come from stdin", inv->rest[0]);
		return cli_usage(&err, inv->command->name);
	}
	if (command_settings(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	/* Its own output is text, whatever a configuration file wants of runs. */
	settings.json = false;
	status = run_with(inv, &settings);
	settings_done(&settings);
	return status;
}

const struct command cmd_repl = {
	.name = "repl",
	.bit = FOR_REPL,
	.arguments = "[-l LANGUAGE] [OPTIONS]",
	.summary = "type code into a live kernel, whose variables stay",
	.mixes = true,
	.text = "Runs what is typed, cell by cell, in an interpreter that remembers: python (the\n"
		"default), javascript, ruby, r or java, in a sandbox of its own or in a session.\n"
		"Lines are edited, and remembered from one time to the next. Plots and files that\n"
		"a cell shows or makes are saved in a folder, named when they come, and shown\n"
		"with --show. :help lists the commands. Ctrl-C interrupts a cell, Ctrl-D ends.\n"
		"\n"
		"Where stdin is no terminal, its lines are cells, apart by lines that begin with\n"
		"# %% or // %%. The first one that fails ends it, with its status as by 'run'.\n",
	.run = run,
};
