/* SPDX-License-Identifier: MIT */
#include "cli/execute.h"

#include "cli/files.h"
#include "cli/output.h"
#include "cli/signals.h"
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
static int output_status(int failed)
{
	if (failed == EPIPE)
		return STATUS_SIGNAL + SIGPIPE;
	cli_say("cannot write the output: %s", strerror(failed));
	return STATUS_TROUBLE;
}

/* ---- the plan ---- */

static int print_plan(const struct settings *s)
{
	auto_free char *plan = NULL;
	auto_free char *text = NULL;
	struct sbx_error err;
	struct output output;

	if (sbx_spec_print_plan(s->spec, &plan, &err) < 0)
		return execute_fail(s, &err);
	output_init(&output, s, NULL);
	if (s->json) {
		json_t *object = json_pack("{s:s}", "plan", plan);

		text = object ? json_dumps(object, 0) : NULL;
		json_decref(object);
	}
	output_text(&output, text ? text : plan);
	if (text != NULL)
		output_text(&output, "\n");
	return output.failed ? output_status(output.failed) : 0;
}

/* ---- the result ---- */

static int result_status(const struct sbx_result *result, int killed_by)
{
	switch (result->reason) {
	case SBX_TIMEOUT:
		return STATUS_TIMEOUT;
	case SBX_LOST:
		return STATUS_TROUBLE;
	case SBX_CANCELLED:
		return killed_by ? STATUS_SIGNAL + killed_by : result->exit_code;
	case SBX_EXITED:
	case SBX_SIGNALLED:
	case SBX_CPU_LIMIT:
	case SBX_MEMORY:
		break;
	}
	return result->exit_code;
}

static int print_json(struct output *o, const struct settings *s, const struct sbx_result *result)
{
	auto_free char *text = NULL;
	struct sbx_error err;

	if (sbx_result_format_json(result, s->stream ? 0 : 2, &text, &err) < 0)
		return execute_fail(s, &err);
	output_text(o, text);
	output_text(o, "\n");
	return 0;
}

static int show(struct output *o, const struct settings *s, const struct sbx_result *result,
		int killed_by)
{
	int status = 0;

	if (!s->stream && !s->json)
		output_result(o, result);
	output_finish(o);
	if (s->json)
		status = print_json(o, s, result);
	if (o->failed)
		return output_status(o->failed);
	if (status != 0)
		return status;
	if (result->message[0] != '\0' && !s->json)
		cli_say("%s", result->message);
	return result_status(result, killed_by);
}

/* ---- the run ---- */

static int run(const struct settings *s, const struct execution *e, struct sbx_cancel *cancel)
{
	struct output output;
	struct sbx_session *session = NULL;
	struct sbx_result *result = NULL;
	struct sbx_error err;
	struct sbx_io io = {
		.use_stdin_fd = e->use_stdin,
		.stdin_fd = STDIN_FILENO,
		.on_stdout = s->stream ? output_stdout : NULL,
		.on_stderr = s->stream ? output_stderr : NULL,
		.userdata = &output,
		.cancel = cancel,
	};
	int status, killed_by, r;

	output_init(&output, s, cancel);
	r = sbx_spec_set_language(s->spec, e->language, &err);
	if (r == 0)
		r = sbx_session_open(s->spec, &session, &err);
	if (r == 0)
		r = e->run(session, &io, e->userdata, &result, &err);
	killed_by = signals_disconnect();
	output.cancel = NULL;
	status = r < 0 ? execute_fail(s, &err) : show(&output, s, result, killed_by);
	sbx_result_free(result);
	sbx_session_close(session);
	return status;
}

int execute(const struct settings *s, const struct execution *e)
{
	struct sbx_cancel *cancel;
	struct sbx_error err;
	int status;

	if (s->dry_run)
		return print_plan(s);
	if (sbx_cancel_new(&cancel, &err) < 0)
		return execute_fail(s, &err);
	signals_connect(cancel);
	status = run(s, e, cancel);
	sbx_cancel_free(cancel);
	return status;
}
