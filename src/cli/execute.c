/* SPDX-License-Identifier: MIT */
#include "cli/execute.h"

#include "cli/artifacts.h"
#include "cli/gallery.h"
#include "cli/trouble.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- our own failures ---- */

static int print_error(const struct sbx_error *err)
{
	json_t *object = json_pack("{s:{s:s, s:s}}", "error", "code", sbx_code_name(err->code),
				   "message", err->msg);
	auto_free char *text = NULL;

	if (object == NULL) /* a byte of the sentence is no UTF-8: the code has to do */
		object = json_pack("{s:{s:s}}", "error", "code", sbx_code_name(err->code));
	text = object ? json_dumps(object, 0) : NULL;
	json_decref(object);
	return text ? dprintf(STDOUT_FILENO, "%s\n", text) : -1;
}

int execute_fail(const struct settings *s, const struct sbx_error *err)
{
	if (s->json)
		print_error(err);
	cli_say("%s", err->msg);
	return err->code == SBX_E_INVALID || err->code == SBX_E_LIMIT ? STATUS_USAGE
								      : STATUS_TROUBLE;
}

/* A reader that is gone wanted no more; we end as if SIGPIPE had. */
int execute_output_status(const struct output *o)
{
	int failed = o->failed;

	if (failed == EPIPE)
		return STATUS_SIGNAL + SIGPIPE;
	cli_say("cannot write the output: %s", strerror(failed));
	return STATUS_TROUBLE;
}

/* ---- the plan ---- */

int execute_plan(const struct settings *s)
{
	auto_free char *plan = NULL;
	auto_free char *text = NULL;
	struct sbx_error err;
	struct output output;

	if (sbx_spec_print_plan(s->spec, &plan, &err) < 0)
		return execute_fail(s, &err);
	output_init(&output, s);
	if (s->json) {
		json_t *object = json_pack("{s:s}", "plan", plan);

		text = object ? json_dumps(object, 0) : NULL;
		json_decref(object);
	}
	output_text(&output, text ? text : plan);
	if (text != NULL)
		output_text(&output, "\n");
	return output.failed ? execute_output_status(&output) : 0;
}

/* ---- the result ---- */

int execute_status(const struct outcome *outcome)
{
	const struct sbx_result *result = outcome->result;

	switch (result->reason) {
	case SBX_TIMEOUT:
		return STATUS_TIMEOUT;
	case SBX_LOST:
		return STATUS_TROUBLE;
	case SBX_CANCELLED:
		return outcome->killed_by ? STATUS_SIGNAL + outcome->killed_by : result->exit_code;
	case SBX_EXITED:
	case SBX_SIGNALLED:
	case SBX_CPU_LIMIT:
	case SBX_MEMORY:
		break;
	}
	return result->exit_code;
}

int execute_show(struct output *o, const struct settings *s, const struct outcome *outcome)
{
	if (!s->stream && !s->json)
		output_result(o, outcome->result);
	output_finish(o);
	if (s->json) {
		output_text(o, outcome->told ? outcome->told : outcome->json);
		output_text(o, "\n");
	}
	if (o->failed)
		return execute_output_status(o);
	if (outcome->result->message[0] != '\0' && !s->json)
		cli_say("%s", outcome->result->message);
	if (outcome->note[0] != '\0' && !s->json)
		cli_say("%s", outcome->note);
	return execute_status(outcome);
}

/* ---- the run ---- */

/* What came first is why: a signal or a reader that went ended the run that then failed. */
static int fail_run(const struct settings *s, const struct output *o, int killed_by,
		    const struct sbx_error *err)
{
	if (killed_by)
		return STATUS_SIGNAL + killed_by;
	return o->failed ? execute_output_status(o) : execute_fail(s, err);
}

/* ---- what it left behind ---- */

static struct site site_of(const struct settings *s, const struct outcome *outcome)
{
	return (struct site){.session = outcome->session, .name = s->session};
}

/* JSON tells where each artifact was saved, so they are saved before. */
static int show_json(struct output *o, const struct settings *s, struct outcome *outcome,
		     const char *folder)
{
	const struct sbx_result *result = outcome->result;
	struct site site = site_of(s, outcome);
	auto_free bool *saved = calloc(result->artifact_count + 1, sizeof(*saved));
	auto_free char *told = NULL;
	struct sbx_error err;
	bool good;
	int status;

	if (saved == NULL) {
		cli_fail(&err, SBX_E_SYSTEM, "out of memory");
		return execute_fail(s, &err);
	}
	good = artifacts_save(&site, result, folder, saved);
	if (artifacts_add_paths(outcome->json, result, folder, saved, s->stream ? 0 : 2, &told,
				&err) < 0)
		return execute_fail(s, &err);
	outcome->told = told;
	status = execute_show(o, s, outcome);
	outcome->told = NULL;
	return good || status != 0 ? status : STATUS_TROUBLE;
}

static int show_text(struct output *o, const struct settings *s, const struct outcome *outcome,
		     const char *folder)
{
	const struct sbx_result *result = outcome->result;
	struct site site = site_of(s, outcome);
	auto_free bool *saved = calloc(result->artifact_count + 1, sizeof(*saved));
	struct gallery gallery = {0};
	int status = execute_show(o, s, outcome);
	bool good = saved != NULL;

	if (good && folder != NULL) {
		good = artifacts_save(&site, result, folder, saved);
		artifacts_list(result, folder);
	}
	if (s->show)
		gallery_show(&gallery, &site, result, folder != NULL);
	return good || status != 0 ? status : STATUS_TROUBLE;
}

static int show_all(struct output *o, const struct settings *s, struct outcome *outcome,
		    const char *folder)
{
	if (s->json)
		return folder ? show_json(o, s, outcome, folder) : execute_show(o, s, outcome);
	return show_text(o, s, outcome, folder);
}

int execute(const struct settings *s, const struct job *job)
{
	const struct target *target = s->session ? &target_session : &target_here;
	struct job wanted = *job;
	char folder[PATH_MAX];
	struct output output;
	struct outcome outcome;
	struct sbx_error err;
	int status;

	if (s->dry_run)
		return execute_plan(s);
	/* Before the run: a folder that cannot be made would lose what it makes. */
	if (s->artifacts != NULL && artifacts_folder(s->artifacts, folder, &err) < 0)
		return execute_fail(s, &err);
	wanted.artifacts = s->artifacts != NULL || (s->show && !s->json && gallery_is_possible());
	output_init(&output, s);
	if (target->run(s, &wanted, &output, &outcome, &err) < 0)
		return fail_run(s, &output, outcome.killed_by, &err);
	status = show_all(&output, s, &outcome, s->artifacts ? folder : NULL);
	target->done(&outcome);
	return status;
}
