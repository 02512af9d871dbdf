/* SPDX-License-Identifier: MIT */
/*
 * What a container costs through the library, against the engine's own command line on the same
 * image, as a Markdown table for docs/performance.md.
 *
 *	bench-engines BACKEND IMAGE [RUNS]		docker box:py 20
 *
 * Both sides of a row take turns within one run.
 */
#include <llmsandbox/container.h>
#include <llmsandbox/session.h>

#include "base/clock.h"
#include "series.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNS_STANDARD 20
#define RUNS_MAX      10000
#define WARM_UP	      2

extern char **environ;

/* What all rows work with. */
struct bench {
	const char *engine, *image;
	struct sbx_spec *spec;
	struct sbx_session *open;
	char container[64]; /* of the engine's own, with a shell that sleeps */
	struct series close; /* times of sbx_session_close() */
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench-engines: %s\n", what);
	exit(1);
}

/* ---- ours ---- */

static struct sbx_session *open_session(const struct bench *b)
{
	struct sbx_session *session = NULL;
	struct sbx_error err;

	if (sbx_session_open(b->spec, &session, &err) < 0)
		die(err.msg);
	return session;
}

static void run(struct sbx_session *session, const char *const *argv)
{
	struct sbx_command command = {.argv = argv};
	struct sbx_result *result = NULL;
	struct sbx_error err;

	if (sbx_session_exec(session, &command, &result, &err) < 0)
		die(err.msg);
	if (result->exit_code != 0)
		die(result->message[0] ? result->message : "a program of ours failed");
	sbx_result_free(result);
}

static const char *const true_argv[] = {"true", NULL};
static const char *const output_argv[] = {"head", "-c", "20000000", "/dev/zero", NULL};

static void ours_session(struct bench *b)
{
	struct sbx_session *session = open_session(b);
	uint64_t start;

	run(session, true_argv);
	start = sbx_now_ns();
	sbx_session_close(session);
	b->close.ns[b->close.count++] = sbx_now_ns() - start;
}

static void ours_run(struct bench *b)
{
	run(b->open, true_argv);
}

static void ours_output(struct bench *b)
{
	struct sbx_session *session = open_session(b);

	run(session, output_argv);
	sbx_session_close(session);
}

/* ---- the engine's own command line ---- */

static void command(const char *const *argv)
{
	posix_spawn_file_actions_t quiet;
	int status = -1;
	pid_t pid;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &quiet, NULL, (char *const *)argv, environ) == 0)
		waitpid(pid, &status, 0);
	posix_spawn_file_actions_destroy(&quiet);
	if (status != 0)
		die("the engine's own program failed");
}

#define RUN(b) (b)->engine, "run", "--rm", "--network", "none", (b)->image

static void other_session(struct bench *b)
{
	command((const char *const[]){RUN(b), "true", NULL});
}

static void other_run(struct bench *b)
{
	command((const char *const[]){b->engine, "exec", b->container, "true", NULL});
}

static void other_output(struct bench *b)
{
	command((const char *const[]){RUN(b), "head", "-c", "20000000", "/dev/zero", NULL});
}

/* ---- the table ---- */

struct row {
	const char *title;
	void (*ours)(struct bench *b);
	void (*other)(struct bench *b);
	double target; /* ours / other */
};

static const struct row rows[] = {
	{"session: open, `true`, close, against `run`", ours_session, other_session, 1.1},
	{"a run in an open session against `exec`", ours_run, other_run, 0.1},
	{"session with 20 MB of output, against `run`", ours_output, other_output, 1.0},
};

static uint64_t time_of(void (*once)(struct bench *b), struct bench *b)
{
	uint64_t start = sbx_now_ns();

	once(b);
	return sbx_now_ns() - start;
}

static void print_row(const struct row *row, struct bench *b, size_t runs)
{
	struct series ours = series_new(runs), other = series_new(runs);
	double ratio;

	for (size_t i = 0; i < runs + WARM_UP; i++) {
		uint64_t mine = time_of(row->ours, b), theirs = time_of(row->other, b);

		if (i < WARM_UP)
			continue;
		ours.ns[ours.count++] = mine;
		other.ns[other.count++] = theirs;
	}
	series_sort(&ours);
	series_sort(&other);
	ratio = series_median_ms(&ours) / series_median_ms(&other);
	printf("| %s | **%.2f** | %.2f | %.3f | <= %.2f %s |\n", row->title, series_median_ms(&ours),
	       series_median_ms(&other), ratio, row->target, ratio <= row->target ? "met" : "missed");
	free(ours.ns);
	free(other.ns);
}

static void begin(struct bench *b)
{
	struct sbx_error err;

	snprintf(b->container, sizeof(b->container), "llm-sandbox-bench-%d", (int)getpid());
	if (sbx_spec_new(&b->spec, &err) < 0 || sbx_spec_set_backend(b->spec, b->engine, &err) < 0 ||
	    sbx_spec_set_image(b->spec, b->image, &err) < 0)
		die(err.msg);
	b->open = open_session(b);
	command((const char *const[]){b->engine, "run", "-d", "--rm", "--init", "--network", "none",
				      "--name", b->container, b->image, "sleep", "86400", NULL});
}

static void end(struct bench *b)
{
	command((const char *const[]){b->engine, "kill", b->container, NULL});
	sbx_session_close(b->open);
	sbx_spec_free(b->spec);
	free(b->close.ns);
}

int main(int argc, char **argv)
{
	size_t runs = argc > 3 ? strtoul(argv[3], NULL, 10) : RUNS_STANDARD;
	struct bench b = {.engine = argc > 1 ? argv[1] : NULL, .image = argc > 2 ? argv[2] : NULL};

	if (argc < 3 || argc > 4 || runs == 0 || runs > RUNS_MAX)
		die("usage: bench-engines docker|podman IMAGE [RUNS]");
	b.close = series_new(runs + WARM_UP);
	begin(&b);
	printf("| %s, ms, medians of %zu | ours | its own program | ratio | target |\n|---|---|---|---|---|\n",
	       b.engine, runs);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		print_row(&rows[i], &b, runs);
	series_sort(&b.close);
	printf("| closing a session | **%.2f** | | | < 100 ms %s |\n", series_median_ms(&b.close),
	       series_median_ms(&b.close) < 100 ? "met" : "missed");
	end(&b);
	return 0;
}
