/* SPDX-License-Identifier: MIT */
/*
 * What a session costs through the library, as a Markdown table for docs/performance.md.
 *
 *	bench-sessions [RUNS]
 *
 * Within one run the rows take turns with a plain fork and exec of the same program, which is the
 * least that any run can cost.
 */
#include <llmsandbox/session.h>

#include "base/clock.h"
#include "series.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define RUNS_STANDARD 200
#define RUNS_MAX      100000
#define WARM_UP	      3

extern char **environ;

static const char *const true_argv[] = {"/usr/bin/true", NULL};

static _Noreturn void die(const struct sbx_error *err)
{
	fprintf(stderr, "bench-sessions: %s\n", err->msg);
	exit(1);
}

static struct sbx_session *open_session(const struct sbx_spec *spec)
{
	struct sbx_session *session = NULL;
	struct sbx_error err;

	if (sbx_session_open(spec, &session, &err) < 0)
		die(&err);
	return session;
}

static void run_true(struct sbx_session *session)
{
	struct sbx_command command = {.argv = true_argv};
	struct sbx_result *result = NULL;
	struct sbx_error err;

	if (sbx_session_exec(session, &command, &result, &err) < 0)
		die(&err);
	sbx_result_free(result);
}

/* ---- what is timed ---- */

static void whole_session(const struct sbx_spec *spec, struct sbx_session *open)
{
	struct sbx_session *session = open_session(spec);

	(void)open;
	run_true(session);
	sbx_session_close(session);
}

static void run_in_open_session(const struct sbx_spec *spec, struct sbx_session *open)
{
	(void)spec;
	run_true(open);
}

static void background_process(const struct sbx_spec *spec, struct sbx_session *open)
{
	struct sbx_command command = {.argv = true_argv};
	struct sbx_process *process = NULL;
	struct sbx_result *result = NULL;
	struct sbx_error err;

	(void)spec;
	if (sbx_session_start(open, &command, &process, &err) < 0 ||
	    sbx_process_wait(process, SBX_TIMEOUT_NONE, NULL, &result, &err) < 0)
		die(&err);
	sbx_result_free(result);
	sbx_process_free(process);
}

static void plain_process(const struct sbx_spec *spec, struct sbx_session *open)
{
	pid_t pid;

	(void)spec;
	(void)open;
	if (posix_spawn(&pid, true_argv[0], NULL, NULL, (char *const *)true_argv, environ) == 0)
		waitpid(pid, NULL, 0);
}

struct row {
	const char *title;
	void (*once)(const struct sbx_spec *spec, struct sbx_session *open);
	struct series times;
};

static void time_rows(struct row *rows, size_t count, size_t runs, const struct sbx_spec *spec)
{
	struct sbx_session *open = open_session(spec);

	for (size_t run = 0; run < runs + WARM_UP; run++) {
		for (size_t i = 0; i < count; i++) {
			uint64_t start = sbx_now_ns();

			rows[i].once(spec, open);
			if (run >= WARM_UP)
				rows[i].times.ns[rows[i].times.count++] = sbx_now_ns() - start;
		}
	}
	sbx_session_close(open);
}

int main(int argc, char **argv)
{
	struct row rows[] = {
		{.title = "a plain process, for comparison", .once = plain_process},
		{.title = "session: open, run, close", .once = whole_session},
		{.title = "a run in an open session", .once = run_in_open_session},
		{.title = "a background process, from start to end", .once = background_process},
	};
	size_t count = sizeof(rows) / sizeof(rows[0]);
	unsigned long runs = argc > 1 ? strtoul(argv[1], NULL, 10) : RUNS_STANDARD;
	struct sbx_spec *spec = NULL;
	struct sbx_error err;

	if (argc > 2 || runs == 0 || runs > RUNS_MAX) {
		fprintf(stderr, "Usage: bench-sessions [RUNS]\n");
		return 2;
	}
	if (sbx_spec_new(&spec, &err) < 0)
		die(&err);
	for (size_t i = 0; i < count; i++)
		rows[i].times = series_new(runs);
	time_rows(rows, count, runs, spec);
	printf("| `/usr/bin/true`, ms, %lu runs | min | median | max |\n|---|---|---|---|\n", runs);
	for (size_t i = 0; i < count; i++) {
		struct series *s = &rows[i].times;

		series_sort(s);
		printf("| %s | %.2f | **%.2f** | %.2f |\n", rows[i].title, series_ms(s->ns[0]),
		       series_median_ms(s), series_ms(s->ns[s->count - 1]));
		free(s->ns);
	}
	sbx_spec_free(spec);
	return 0;
}
