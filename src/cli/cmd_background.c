/* SPDX-License-Identifier: MIT */
/* Programs in the background of a session: `exec --background`, `session logs`, `session kill`. */
#include "cli/background.h"

#include "cli/client.h"
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/trouble.h"

#include <stdio.h>
#include <string.h>

/* ---- exec --background ---- */

int background_start(const struct settings *s, const struct job *job)
{
	json_t *q = client_request("spawn", s->session);
	struct answer answer;
	struct sbx_error err;

	json_object_set_new(q, "args", paper_list((const char *const *)job->argv));
	json_object_set_new(q, "env", paper_list((const char *const *)job->env));
	json_object_set_new(q, "timeout_ms", json_integer((json_int_t)job->timeout_ms));
	if (client_call(q, &answer, &err) < 0)
		return execute_fail(s, &err);
	if (s->json) {
		json_dumpf(answer.body, stdout, JSON_INDENT(2));
		putchar('\n');
	} else {
		printf("%lld\n", json_integer_value(json_object_get(answer.body, "process")));
	}
	answer_done(&answer);
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}

/* ---- one of them ---- */

/* The request about the program that the words NAME NUMBER are. */
static int make_request(const struct invocation *inv, const char *name, json_t **ret,
			struct sbx_error *err)
{
	char **words = inv->rest;
	size_t digits = words[0] && words[1] ? strspn(words[1], "0123456789") : 0;

	if (digits == 0 || digits > 9 || words[1][digits] != '\0' || words[2] != NULL)
		return cli_fail(err, SBX_E_INVALID,
				"which program? Write the session's NAME and the NUMBER that "
				"'exec --background' printed");
	*ret = client_request(name, words[0]);
	json_object_set_new(*ret, "process", json_integer(atoi(words[1])));
	return 0;
}

static int show_logs(const struct settings *s, const struct answer *answer)
{
	struct output output;
	struct outcome outcome = {0};
	struct sbx_error err;
	int status;

	if (target_session_unpack(s, answer, &outcome, &err) < 0)
		return execute_fail(s, &err);
	output_init(&output, s);
	status = execute_show(&output, s, &outcome);
	target_session_done(&outcome);
	/* Without --wait the answer is what it printed, and there is one. */
	return s->waits || output.failed ? status : 0;
}

static int logs_with(const struct settings *s, json_t *request)
{
	struct answer answer;
	struct sbx_error err;
	int status;

	json_object_set_new(request, "wait", json_boolean(s->waits));
	if (client_call(request, &answer, &err) < 0)
		return execute_fail(s, &err);
	status = show_logs(s, &answer);
	answer_done(&answer);
	return status;
}

static int logs(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;
	json_t *request = NULL;

	if (command_flags(inv, &settings, &err) < 0 ||
	    make_request(inv, "logs", &request, &err) < 0)
		return cli_usage(&err, inv->command->name);
	return logs_with(&settings, request);
}

const struct command cmd_session_logs = {
	.name = "session logs",
	.bit = FOR_LOGS,
	.arguments = "NAME NUMBER [OPTIONS]",
	.summary = "print what a program in the background has printed",
	.mixes = true,
	.text = "'exec --session NAME --background' prints the NUMBER, and 'session list' shows\n"
		"all of them. What a program printed is kept until its session ends.\n",
	.run = logs,
};

static int kill_program(const struct invocation *inv)
{
	struct settings settings;
	struct answer answer;
	struct sbx_error err;
	json_t *request = NULL;

	if (command_flags(inv, &settings, &err) < 0 ||
	    make_request(inv, "kill", &request, &err) < 0)
		return cli_usage(&err, inv->command->name);
	if (client_call(request, &answer, &err) < 0)
		return execute_fail(&settings, &err);
	answer_done(&answer);
	return 0;
}

const struct command cmd_session_kill = {
	.name = "session kill",
	.bit = FOR_KILL,
	.arguments = "NAME NUMBER",
	.summary = "kill a program in the background with all that it started",
	.mixes = true,
	.text = "",
	.run = kill_program,
};
