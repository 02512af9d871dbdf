/* SPDX-License-Identifier: MIT */
/* `session start`, `session list`, `session stop`. */
#include "cli/client.h"
#include "cli/closest.h"
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/listing.h"
#include "cli/names.h"
#include "cli/signals.h"
#include "cli/trouble.h"
#include "cli/utf8.h"

#include <llmsandbox/language.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- start ---- */

static json_t *start_request(const struct settings *s, const char *name, const char *language)
{
	uint64_t idle_ms = s->idle_ms ? s->idle_ms : SETTINGS_IDLE_MS;
	json_t *q = client_request("start", name);

	json_object_set(q, "options", s->wishes);
	json_object_set_new(q, "idle_ms", json_integer((json_int_t)idle_ms));
	if (language != NULL)
		json_object_set_new(q, "language", json_string(language));
	return q;
}

/* *ret is NULL for any. A session shows the caches that are there when it starts. */
static int take_language(const char *name, const char **ret, struct sbx_error *err)
{
	const struct sbx_language_info *language = name ? sbx_language_find(name) : NULL;
	char list[160];

	*ret = language ? language->id : NULL;
	if (language != NULL)
		source_prepare(language);
	if (name == NULL || language != NULL)
		return 0;
	source_list_languages(list, sizeof(list));
	return cli_fail(err, SBX_E_INVALID, "there is no language '%.64s' (languages: %s)", name,
			list);
}

static int start_session(const struct settings *s, const char *name, struct answer *ret,
			 struct sbx_error *err)
{
	struct client client;
	uint64_t holder_idle = s->holder_idle_ms ? s->holder_idle_ms : SETTINGS_HOLDER_IDLE_MS;
	const char *language;
	int r = take_language(s->language, &language, err);

	if (r == 0)
		r = client_connect_or_start(holder_idle, &client, err);
	if (r < 0)
		return r;
	r = client_ask(&client, start_request(s, name, language), NULL, 0, NULL, ret, err);
	client_close(&client);
	return r;
}

static void print_started(const struct settings *s, const struct answer *answer)
{
	if (s->json) {
		json_dumpf(answer->body, stdout, JSON_INDENT(2));
		putchar('\n');
	} else {
		printf("%s\n", json_string_value(json_object_get(answer->body, "name")));
	}
}

static int start_with(const struct settings *s, const char *name)
{
	struct answer answer;
	struct sbx_error err;

	if (s->dry_run)
		return execute_plan(s);
	if (start_session(s, name, &answer, &err) < 0)
		return execute_fail(s, &err);
	print_started(s, &answer);
	answer_done(&answer);
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}

static int too_many(const struct invocation *inv, const char *what)
{
	struct sbx_error err;

	cli_fail(&err, SBX_E_INVALID, "%s: what is '%.64s'?", what, inv->rest[1]);
	return cli_usage(&err, inv->command->name);
}

static int start(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;
	int status;

	if (inv->rest[0] != NULL && inv->rest[1] != NULL)
		return too_many(inv, "a session has one name");
	if (command_settings(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	status = start_with(&settings, inv->rest[0]);
	settings_done(&settings);
	return status;
}

const struct command cmd_session_start = {
	.name = "session start",
	.bit = FOR_START,
	.arguments = "[NAME] [OPTIONS]",
	.summary = "open a sandbox that stays, and print its name",
	.mixes = true,
	.text = "Opens a sandbox for 'run --session NAME' and 'exec --session NAME', with the\n"
		"options given here. Files stay between runs, processes do not. Without NAME it\n"
		"gets one. It ends with 'session stop', when it is idle or its time is over, and\n"
		"with the process that holds it: with a reboot, for example.\n",
	.run = start,
};

/* ---- list ---- */

static void print_duration(char *ret, size_t size, const json_t *ms)
{
	unsigned long long s = (unsigned long long)json_integer_value(ms) / 1000;

	if (!json_is_integer(ms))
		snprintf(ret, size, "never");
	else if (s < 120)
		snprintf(ret, size, "%llus", s);
	else if (s < 7200)
		snprintf(ret, size, "%llum", s / 60);
	else
		snprintf(ret, size, "%lluh", s / 3600);
}

static void print_line(const json_t *session)
{
	const char *language = json_string_value(json_object_get(session, "language"));
	char age[24], idle[24], ends[24];
	json_t *age_ms = json_integer(
		(json_int_t)(time(NULL) - json_integer_value(json_object_get(session, "created"))) *
		1000);

	print_duration(age, sizeof(age), age_ms);
	print_duration(idle, sizeof(idle), json_object_get(session, "idle_ms"));
	print_duration(ends, sizeof(ends), json_object_get(session, "expires_in_ms"));
	json_decref(age_ms);
	printf("%-20s %-10s %8s %8s %8s\n", json_string_value(json_object_get(session, "name")),
	       language ? language : "any", age,
	       json_is_true(json_object_get(session, "busy")) ? "busy" : idle, ends);
}

static void print_process(const json_t *process)
{
	auto_free char *command = paper_bytes(json_object_get(process, "command"));
	auto_free char *tame = listing_tame(command ? command : "");
	const json_t *status = json_object_get(process, "exit_code");
	char state[32] = "running";

	if (status != NULL)
		snprintf(state, sizeof(state), "ended: %d", (int)json_integer_value(status));
	else if (!json_is_true(json_object_get(process, "running")))
		snprintf(state, sizeof(state), "ended");
	printf("  %-3lld %-14s %s\n",
	       json_integer_value(json_object_get(process, "process")), state,
	       tame ? tame : "?");
}

static void print_processes(const json_t *list)
{
	const json_t *process;
	size_t i;

	json_array_foreach (list, i, process)
		print_process(process);
}

static void print_table(const json_t *list)
{
	const json_t *session;
	size_t i;

	if (json_array_size(list) > 0)
		printf("%-20s %-10s %8s %8s %8s\n", "NAME", "LANGUAGE", "AGE", "IDLE", "ENDS IN");
	json_array_foreach (list, i, session) {
		print_line(session);
		print_processes(json_object_get(session, "processes"));
	}
}

/* Commands are bytes on paper; programs that read our JSON want text. */
static void make_readable(const json_t *sessions)
{
	const json_t *session;
	json_t *process;
	size_t i, j;

	json_array_foreach (sessions, i, session) {
		json_array_foreach (json_object_get(session, "processes"), j, process) {
			auto_free char *bytes = paper_bytes(json_object_get(process, "command"));
			bool changed;
			auto_free char *text = bytes ? utf8_replace(bytes, &changed) : NULL;

			json_object_set_new(process, "command", json_string(text ? text : ""));
		}
	}
}

/* No holder is no session, and not our failure. */
static int ask_list(json_t **ret, struct sbx_error *err)
{
	struct answer answer;
	int r = client_call(client_request("sessions", NULL), &answer, err);

	if (r == -(int)SBX_E_NOT_FOUND)
		*ret = json_array();
	if (r < 0)
		return r == -(int)SBX_E_NOT_FOUND ? 0 : r;
	*ret = json_incref(json_object_get(answer.body, "sessions"));
	answer_done(&answer);
	return 0;
}

static int list(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;
	json_t *sessions;

	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	if (ask_list(&sessions, &err) < 0)
		return execute_fail(&settings, &err);
	if (settings.json) {
		make_readable(sessions);
		json_dumpf(sessions, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		putchar('\n');
	} else {
		print_table(sessions);
	}
	json_decref(sessions);
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}

const struct command cmd_session_list = {
	.name = "session list",
	.bit = FOR_LIST,
	.arguments = "[OPTIONS]",
	.summary = "list your sessions",
	.mixes = true,
	.text = "One line per session: its name, its language, its age, for how long it was\n"
		"not used, and when it ends if that goes on. Below it are its programs in the\n"
		"background with their numbers.\n",
	.run = list,
};

/* ---- stop ---- */

static int stop_one(const struct settings *s, json_t *request)
{
	struct answer answer;
	struct sbx_error err;

	if (client_call(request, &answer, &err) < 0)
		return execute_fail(s, &err);
	answer_done(&answer);
	return 0;
}

/* Nothing to stop is what was wanted. */
static int stop_all(const struct settings *s)
{
	json_t *request = client_request("stop", NULL);
	struct answer answer;
	struct sbx_error err;
	int r;

	json_object_set_new(request, "all", json_true());
	r = client_call(request, &answer, &err);
	if (r < 0)
		return r == -(int)SBX_E_NOT_FOUND ? 0 : execute_fail(s, &err);
	answer_done(&answer);
	return 0;
}

static int stop(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;
	int status = 0;

	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	if (settings.all == (inv->rest[0] != NULL)) {
		cli_fail(&err, SBX_E_INVALID, "which session? Give names, or --all");
		return cli_usage(&err, inv->command->name);
	}
	if (settings.all)
		return stop_all(&settings);
	for (char **name = inv->rest; *name != NULL; name++) {
		int one = stop_one(&settings, client_request("stop", *name));

		status = one != 0 ? one : status;
	}
	return status;
}

const struct command cmd_session_stop = {
	.name = "session stop",
	.bit = FOR_STOP,
	.arguments = "NAME ... | --all",
	.summary = "end sessions, with all that is in them",
	.mixes = true,
	.text = "What runs in a session is killed. The command returns when nothing is left.\n",
	.run = stop,
};
