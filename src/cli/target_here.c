/* SPDX-License-Identifier: MIT */
#include "cli/target.h"

#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/trouble.h"

#include <llmsandbox/container.h>
#include <llmsandbox/library.h>

#include <signal.h>
#include <unistd.h>

/* What must stay until the outcome has been shown; closing the sandbox can wait until then. */
struct here {
	struct sbx_cancel *cancel;
	struct sbx_session *session;
	bool is_lent; /* the session is somebody else's to close */
	struct sbx_result *result;
	volatile sig_atomic_t stopped; /* while it was opened */
};

static void stop_opening(void *userdata)
{
	struct here *here = userdata;

	here->stopped = 1;
	sbx_cancel_kill(here->cancel);
}

/* An image may have to be pulled or built. There is no program yet that could be interrupted alone. */
static int open_under_signals(const struct settings *s, struct here *here, int *ret_killed_by,
			      struct sbx_error *err)
{
	const struct reach reach = {stop_opening, stop_opening, here};
	int r;

	signals_connect(&reach);
	sbx_spec_set_cancel(s->spec, here->cancel);
	r = sbx_session_open(s->spec, &here->session, err);
	sbx_spec_set_cancel(s->spec, NULL);
	*ret_killed_by = signals_disconnect();
	if (!here->stopped)
		return r;
	if (*ret_killed_by == 0)
		*ret_killed_by = SIGINT;
	return r < 0 ? r : cli_fail(err, SBX_E_UNAVAILABLE, "it was ended before anything ran");
}

static int run_job(struct sbx_session *session, const struct job *job, const struct sbx_io *io,
		   struct sbx_result **ret, struct sbx_error *err)
{
	struct sbx_command command = {.argv = (const char *const *)job->argv, .io = *io};
	struct sbx_run run = {.libraries = (const char *const *)job->libraries, .io = *io};

	if (job->source == NULL)
		return sbx_session_exec(session, &command, ret, err);
	run.language = job->source->language->id;
	run.code = job->source->code;
	run.code_len = job->source->code_len;
	run.file_name = job->source->file_name;
	run.args = job->kernel ? NULL : (const char *const *)job->source->args;
	run.kernel = job->kernel;
	return sbx_session_run(session, &run, ret, err);
}

/* The same as the run would do, but told as it goes on. */
static int install(const struct settings *s, struct sbx_session *session, const struct job *job,
		   struct sbx_cancel *cancel, struct sbx_error *err)
{
	struct sbx_install how = {
		.language = job->language,
		.requirements = (const char *const *)job->libraries,
		.offline = s->offline,
		.on_progress = progress_is_wanted() && !s->json ? progress_print : NULL,
		.cancel = cancel,
	};

	if (job->source == NULL || job->libraries == NULL)
		return 0;
	return sbx_session_install(session, &how, NULL, err);
}

static int run_under_signals(const struct settings *s, const struct job *job, struct output *output,
			     struct here *here, int *ret_killed_by, struct sbx_error *err)
{
	struct reach reach = reach_cancel(here->cancel);
	struct sbx_io io = {
		.use_stdin_fd = job->use_stdin,
		.stdin_fd = STDIN_FILENO,
		.timeout_ms = job->timeout_ms,
		.on_stdout = s->stream ? output_stdout : NULL,
		.on_stderr = s->stream ? output_stderr : NULL,
		.userdata = output,
		.cancel = here->cancel,
		.artifacts = job->artifacts,
	};
	int r = 0;

	if (!here->is_lent)
		r = open_under_signals(s, here, ret_killed_by, err);
	if (r < 0)
		return r;
	output->reach = &reach;
	signals_connect(&reach);
	r = install(s, here->session, job, here->cancel, err);
	if (r == 0)
		r = run_job(here->session, job, &io, &here->result, err);
	*ret_killed_by = signals_disconnect();
	output->reach = NULL;
	return r;
}

static void free_here(struct here *here)
{
	sbx_result_free(here->result);
	if (!here->is_lent)
		sbx_session_close(here->session);
	sbx_cancel_free(here->cancel);
	free(here);
}

static int set_spec(const struct settings *s, const struct job *job, struct sbx_error *err)
{
	sbx_spec_use_libraries(s->spec, job->libraries != NULL && !s->skip_setup);
	sbx_spec_use_support(s->spec, job->artifacts || job->kernel != NULL);
	return sbx_spec_set_language(s->spec, job->language, err);
}

static int run(const struct settings *s, const struct job *job, struct output *output,
	       struct outcome *ret, struct sbx_error *err)
{
	struct here *here = calloc(1, sizeof(*here));
	int r;

	if (here == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	*ret = (struct outcome){.internal = here};
	here->session = job->session;
	here->is_lent = job->session != NULL;
	r = here->is_lent ? 0 : set_spec(s, job, err);
	if (r == 0)
		r = sbx_cancel_new(&here->cancel, err);
	if (r == 0)
		r = run_under_signals(s, job, output, here, &ret->killed_by, err);
	if (r == 0 && s->json)
		r = sbx_result_format_json(here->result, s->stream ? 0 : 2, &ret->json, err);
	ret->result = here->result;
	ret->session = here->session;
	if (r == 0)
		note_network(here->result, ret->note);
	if (r < 0) {
		free_here(here);
		ret->internal = NULL;
	}
	return r;
}

static void done(struct outcome *outcome)
{
	free(outcome->json);
	free_here(outcome->internal);
}

const struct target target_here = {.run = run, .done = done};
