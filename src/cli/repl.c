/* SPDX-License-Identifier: MIT */
#include "cli/repl.h"

#include "cli/artifacts.h"
#include "cli/cell.h"
#include "cli/execute.h"
#include "cli/gallery.h"
#include "cli/lines.h"
#include "cli/listing.h"
#include "cli/repl_commands.h"
#include "cli/trouble.h"

#include <llmsandbox/language.h>
#include <llmsandbox/version.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- what is shown beside output ---- */

static bool make_folder(struct repl *r)
{
	char path[PATH_MAX];
	struct sbx_error err;

	if (r->folder_is_made)
		return true;
	memcpy(path, r->folder, sizeof(path));
	r->folder_is_made = artifacts_folder(path, r->folder, &err) == 0;
	if (!r->folder_is_made)
		cli_say("%s", err.msg);
	return r->folder_is_made;
}

static void show_artifacts(struct repl *r, const struct sbx_result *result)
{
	auto_free bool *saved = calloc(result->artifact_count + 1, sizeof(*saved));

	if (!r->saves || saved == NULL)
		return;
	if (result->artifact_count > 0 && make_folder(r))
		artifacts_save(&r->site, result, r->folder, saved);
	r->artifact_count += result->artifact_count;
	artifacts_list(result, r->folder);
	if (r->settings->show)
		gallery_show(&r->gallery, &r->site, result, true);
}

/* Of a terminal: the prompt, or what we say, begins a line of its own. */
static void begin_line(struct repl *r, const struct output *output)
{
	if (lines_are_typed(r->lines) && output->midline)
		dprintf(STDOUT_FILENO, "\n");
}

static void show_end(struct repl *r, const struct outcome *outcome)
{
	if (outcome->result->message[0] != '\0')
		cli_say("%s", outcome->result->message);
	else if (outcome->result->kernel_ended)
		cli_say("the kernel ended, and its state is gone; the next cell starts it anew");
	else if (outcome->result->exit_code == STATUS_SIGNAL + SIGINT)
		cli_say("interrupted; its variables are kept");
	if (outcome->note[0] != '\0')
		cli_say("%s", outcome->note);
	show_artifacts(r, outcome->result);
}

/* ---- a cell ---- */

static int run_cell(struct repl *r, const char *code)
{
	const struct target *target = r->settings->session ? &target_session : &target_here;
	struct source source = {
		.code = (char *)code,
		.code_len = strlen(code),
		.language = r->language,
		.args = (char *[]){NULL},
	};
	struct job job = r->job;
	struct output output;
	struct outcome outcome;
	struct sbx_error err;
	int status;

	job.source = &source;
	output_init(&output, r->settings);
	if (target->run(r->settings, &job, &output, &outcome, &err) < 0) {
		output_finish(&output);
		begin_line(r, &output);
		return outcome.killed_by ? STATUS_SIGNAL + outcome.killed_by
					 : execute_fail(r->settings, &err);
	}
	output_finish(&output);
	begin_line(r, &output);
	show_end(r, &outcome);
	status = output.failed ? execute_output_status(&output) : execute_status(&outcome);
	r->killed_by = outcome.killed_by;
	target->done(&outcome);
	return status;
}

/* Words by which people leave an interpreter; as a cell they would only end the kernel. */
static bool leaves(const char *code)
{
	static const char *const words[] = {"exit", "exit()", "quit", "quit()", "q()", ".exit"};
	size_t len = strcspn(code, "\n");

	while (len > 0 && (code[len - 1] == ' ' || code[len - 1] == ';'))
		len--;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i]) == len && memcmp(code, words[i], len) == 0)
			return true;
	}
	return false;
}

/* ---- typed ---- */

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

/* Add a line to the cell, and say whether it is to be sent. */
static bool add_line(struct repl *r, const char *line, bool *ret_whole)
{
	enum cell_state state;
	bool blank = is_blank(line);
	bool twice = blank && r->ended_blank;

	if (!repl_text_add(&r->cell, line))
		return false;
	r->ended_blank = blank;
	state = cell_look(r->language->id, r->cell.data, r->cell.len);
	*ret_whole = state == CELL_WHOLE || (state != CELL_STRING && twice);
	return true;
}

static void forget_cell(struct repl *r)
{
	repl_text_clear(&r->cell);
	r->ended_blank = false;
}

/* SIGTERM and SIGHUP end us as they would have; a Ctrl-C that killed the kernel does not. */
static bool is_over(const struct repl *r)
{
	return r->leaving || (r->killed_by != 0 && r->killed_by != SIGINT);
}

static void act_on_cell(struct repl *r)
{
	if (leaves(r->cell.data)) {
		r->leaving = true;
		return;
	}
	repl_keep_cell(r, r->cell.data);
	r->status = run_cell(r, r->cell.data);
	forget_cell(r);
}

static void act_on_line(struct repl *r, char *line)
{
	bool whole = false;
	size_t len = strcspn(line, "\n");

	if (r->cell.len == 0 && is_blank(line))
		return;
	if (!add_line(r, line, &whole)) {
		cli_say("the cell is larger than %zu MiB", REPL_TEXT_MAX >> 20);
		forget_cell(r);
		return;
	}
	lines_remember(r->lines, line);
	if (r->cell.data[0] == ':' && r->cell.len == len + 1) {
		r->cell.data[len] = '\0';
		repl_command(r, r->cell.data);
		forget_cell(r);
	} else if (whole) {
		act_on_cell(r);
	}
}

static int converse(struct repl *r)
{
	char prompt[64], more[64];
	int number = 0;

	snprintf(prompt, sizeof(prompt), "%s>", r->language->id);
	snprintf(more, sizeof(more), "%.*s>", (int)strlen(r->language->id), "..............");
	while (!is_over(r)) {
		auto_free char *line = NULL;

		switch (lines_read(r->lines, r->cell.len ? more : prompt, &line, &number)) {
		case LINE_GOOD:
			act_on_line(r, line);
			break;
		case LINE_INTERRUPTED:
			forget_cell(r);
			break;
		case LINE_OVER:
			return 0;
		case LINE_SIGNALLED:
			return STATUS_SIGNAL + number;
		}
	}
	return r->leaving ? 0 : STATUS_SIGNAL + r->killed_by;
}

/* ---- from a file or a pipe ---- */

/* The first cell that fails ends all, as a line that fails ends a script. */
static int run_pending(struct repl *r)
{
	if (r->cell.len == 0 || is_blank(r->cell.data))
		return 0;
	r->status = run_cell(r, r->cell.data);
	return r->status;
}

static int run_all(struct repl *r)
{
	int number, status = 0;
	char *line;

	while (status == 0 && lines_read(r->lines, "", &line, &number) == LINE_GOOD) {
		if (cell_is_border(line)) {
			status = run_pending(r);
			forget_cell(r);
		} else if (!repl_text_add(&r->cell, line)) {
			cli_say("a cell is larger than %zu MiB", REPL_TEXT_MAX >> 20);
			status = STATUS_USAGE;
		}
		free(line);
	}
	return status ? status : run_pending(r);
}

/* ---- the beginning and the end ---- */

static void print_banner(const struct repl *r)
{
	auto_free char *version = repl_version(r);
	auto_free char *folder = listing_tame(r->folder);

	printf("LLM Sandbox %s: %s%s%s", sbx_version(), r->language->title,
	       version && version[0] ? " " : "", version ? version : "");
	if (r->settings->session != NULL)
		printf(", kernel '%s' of session '%s'", r->job.kernel, r->settings->session);
	printf(". :help explains, Ctrl-D ends.\n");
	printf("Plots and files go to %s\n", folder ? folder : "?");
	fflush(stdout);
}

/* Named in the banner, and made when there is something for it. */
static void choose_folder(struct repl *r)
{
	time_t now = time(NULL);
	struct tm parts;

	r->saves = r->settings->artifacts != NULL || lines_are_typed(r->lines);
	if (r->settings->artifacts != NULL)
		snprintf(r->folder, sizeof(r->folder), "%s", r->settings->artifacts);
	else if (localtime_r(&now, &parts) != NULL)
		strftime(r->folder, sizeof(r->folder), "llm-sandbox-%Y%m%d-%H%M%S", &parts);
	r->job.artifacts = r->saves;
}

/* With libraries the first cell starts it: not every interpreter finds those that come later. */
static int start_kernel(struct repl *r, struct sbx_error *err)
{
	if (r->job.libraries != NULL)
		return site_install(&r->site, r->language->id, r->job.libraries,
				    r->settings->offline, err);
	return site_kernel(&r->site, SITE_START, r->job.kernel, r->language->id, err);
}

static int begin(struct repl *r, struct sbx_error *err)
{
	int code = lines_open(r->language->id, &r->lines, err);

	if (code < 0)
		return code;
	choose_folder(r);
	if (r->settings->artifacts != NULL && !make_folder(r))
		return cli_fail(err, SBX_E_INVALID, "there is no place for artifacts");
	/* Who types can stop what takes too long, and need not be hurried. */
	if (lines_are_typed(r->lines) && r->job.timeout_ms == 0 && r->settings->session == NULL &&
	    sbx_spec_get_limit(r->settings->spec, SBX_LIMIT_EXECUTION_MS) == 0 &&
	    sbx_spec_get_limit(r->settings->spec, SBX_LIMIT_WALL_MS) ==
		    sbx_limit_describe(SBX_LIMIT_WALL_MS)->standard)
		r->job.timeout_ms = SBX_TIMEOUT_NONE;
	return start_kernel(r, err);
}

static void end(struct repl *r)
{
	lines_close(r->lines);
	repl_text_done(&r->cell);
	repl_text_done(&r->kept);
	repl_free_libraries(r);
}

int repl_run(struct settings *s, const struct job *job)
{
	struct repl r = {
		.settings = s,
		.job = *job,
		.site = {.session = job->session, .name = s->session},
		.language = sbx_language_find(job->language),
	};
	struct sbx_error err;
	int status;

	s->stream = true;
	if (begin(&r, &err) < 0) {
		status = execute_fail(s, &err);
	} else if (lines_are_typed(r.lines)) {
		print_banner(&r);
		status = converse(&r);
	} else {
		status = run_all(&r);
	}
	end(&r);
	return status;
}
