/* SPDX-License-Identifier: MIT */
#include "cli/execute.h"

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

static int result_status(const struct outcome *outcome)
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
		output_text(o, outcome->json);
		output_text(o, "\n");
	}
	if (o->failed)
		return execute_output_status(o);
	if (outcome->result->message[0] != '\0' && !s->json)
		cli_say("%s", outcome->result->message);
	if (outcome->note[0] != '\0' && !s->json)
		cli_say("%s", outcome->note);
	return result_status(outcome);
}

/* ---- the run ---- */

int execute(const struct settings *s, const struct job *job)
{
	const struct target *target = s->session ? &target_session : &target_here;
	struct output output;
	struct outcome outcome;
	struct sbx_error err;
	int status;

	if (s->dry_run)
		return execute_plan(s);
	output_init(&output, s);
	if (target->run(s, job, &output, &outcome, &err) < 0)
		return outcome.killed_by ? STATUS_SIGNAL + outcome.killed_by : execute_fail(s, &err);
	status = execute_show(&output, s, &outcome);
	target->done(&outcome);
	return status;
}
