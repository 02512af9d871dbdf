/* SPDX-License-Identifier: MIT */
/*
 * What a container costs through this library and through the original one, on the same engine and image,
 * as a Markdown table for docs/performance.md.
 *
 *	bench-original BACKEND IMAGE PYTHON SCRIPT [RUNS]	docker box:py venv/bin/python bench/original.py
 *
 * PYTHON has the original, and SCRIPT, which speaks to it, stays for the whole of it, so that its start is in
 * no row. Both sides take turns. Both keep all of 20 MB of output.
 */
#include <llmsandbox/container.h>
#include <llmsandbox/session.h>

#include "base/clock.h"
#include "core/session.h"
#include "series.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNS_STANDARD 5
#define RUNS_MAX      1000

extern char **environ;

struct bench {
	struct sbx_spec *spec;
	struct sbx_session *session;
	FILE *to, *from; /* of the script */
	pid_t pid;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench-original: %s\n", what);
	exit(1);
}

/* ---- ours ---- */

static void check_result(struct sbx_result *result, size_t len)
{
	if (result->exit_code != 0 || result->out.len != len)
		die(result->message[0] ? result->message : "a program of ours failed");
	sbx_result_free(result);
}

/* The original's answer comes when the container runs, so this waits for that too. */
static void open_session(struct bench *b)
{
	struct sbx_error err;

	if (sbx_session_open(b->spec, &b->session, &err) < 0 ||
	    sbx_session_greet(b->session, NULL, &err) < 0)
		die(err.msg);
}

static void run(struct bench *b)
{
	struct sbx_run program = {.language = "python", .code = "print(1)", .code_len = 8};
	struct sbx_result *result = NULL;
	struct sbx_error err;

	if (sbx_session_run(b->session, &program, &result, &err) < 0)
		die(err.msg);
	check_result(result, 2);
}

static void output(struct bench *b)
{
	static const char *const argv[] = {"head", "-c", "20000000", "/dev/zero", NULL};
	struct sbx_command command = {.argv = argv};
	struct sbx_result *result = NULL;
	struct sbx_error err;

	if (sbx_session_exec(b->session, &command, &result, &err) < 0)
		die(err.msg);
	check_result(result, 20000000);
}

static void close_session(struct bench *b)
{
	sbx_session_close(b->session);
}

/* ---- the original ---- */

static void start_script(struct bench *b, char *const *argv)
{
	posix_spawn_file_actions_t pipes;
	int to[2], from[2];

	if (pipe(to) < 0 || pipe(from) < 0)
		die("no pipes");
	posix_spawn_file_actions_init(&pipes);
	posix_spawn_file_actions_adddup2(&pipes, to[0], 0);
	posix_spawn_file_actions_adddup2(&pipes, from[1], 1);
	posix_spawn_file_actions_addclose(&pipes, to[1]);
	if (posix_spawn(&b->pid, argv[0], &pipes, NULL, argv, environ) != 0)
		die("the Python of the original cannot be started");
	posix_spawn_file_actions_destroy(&pipes);
	close(to[0]);
	close(from[1]);
	b->to = fdopen(to[1], "w");
	b->from = fdopen(from[0], "r");
	if (b->to == NULL || b->from == NULL)
		die("no memory");
}

static uint64_t ask(struct bench *b, const char *word)
{
	char line[64];

	fprintf(b->to, "%s\n", word);
	if (fflush(b->to) != 0 || fgets(line, sizeof(line), b->from) == NULL)
		die("the original failed");
	return strtoull(line, NULL, 10);
}

/* ---- the table ---- */

static const struct row {
	const char *title, *word;
	void (*ours)(struct bench *b);
} rows[] = {
	{"opening a session", "open", open_session},
	{"`print(1)` in an open session", "run", run},
	{"20 MB of output in an open session", "output", output},
	{"closing it", "close", close_session},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static uint64_t time_of(void (*once)(struct bench *b), struct bench *b)
{
	uint64_t start = sbx_now_ns();

	once(b);
	return sbx_now_ns() - start;
}

static void print_row(const struct row *row, struct series *ours, struct series *other)
{
	double ratio;

	series_sort(ours);
	series_sort(other);
	ratio = series_median_ms(other) / series_median_ms(ours);
	printf("| %s | **%.2f** | %.2f | %s%.1f |\n", row->title, series_median_ms(ours),
	       series_median_ms(other), ratio > 1000 ? "> " : "", ratio > 1000 ? 1000 : ratio);
	free(ours->ns);
	free(other->ns);
}

static void print_table(struct bench *b, const char *engine, size_t runs)
{
	struct series ours[ROWS], other[ROWS];

	for (size_t row = 0; row < ROWS; row++) {
		ours[row] = series_new(runs);
		other[row] = series_new(runs);
	}
	/* The first of each is not counted. */
	for (size_t i = 0; i <= runs; i++) {
		for (size_t row = 0; row < ROWS; row++) {
			ours[row].ns[ours[row].count] = time_of(rows[row].ours, b);
			ours[row].count += i > 0;
		}
		for (size_t row = 0; row < ROWS; row++) {
			other[row].ns[other[row].count] = ask(b, rows[row].word);
			other[row].count += i > 0;
		}
	}
	printf("| %s, ms, medians of %zu | ours | the original | times as fast |\n|---|---|---|---|\n",
	       engine, runs);
	for (size_t row = 0; row < ROWS; row++)
		print_row(&rows[row], &ours[row], &other[row]);
}

static struct sbx_spec *make_spec(const char *engine, const char *image)
{
	struct sbx_spec *spec;
	struct sbx_error err;

	if (sbx_spec_new(&spec, &err) < 0 || sbx_spec_set_backend(spec, engine, &err) < 0 ||
	    sbx_spec_set_image(spec, image, &err) < 0 ||
	    sbx_spec_set_limit(spec, SBX_LIMIT_HEAD_BYTES, 32u << 20, &err) < 0)
		die(err.msg);
	return spec;
}

int main(int argc, char **argv)
{
	size_t runs = argc > 5 ? strtoul(argv[5], NULL, 10) : RUNS_STANDARD;
	struct bench b = {0};

	if (argc < 5 || argc > 6 || runs == 0 || runs > RUNS_MAX)
		die("usage: bench-original docker|podman IMAGE PYTHON SCRIPT [RUNS]");
	b.spec = make_spec(argv[1], argv[2]);
	start_script(&b, (char *const[]){argv[3], argv[4], argv[1], argv[2], NULL});
	print_table(&b, argv[1], runs);
	fclose(b.to);
	fclose(b.from);
	waitpid(b.pid, NULL, 0);
	sbx_spec_free(b.spec);
	return 0;
}
