/* SPDX-License-Identifier: MIT */
/*
 * Sessions of one process in containers, for tests that do something to the engine meanwhile.
 *
 *	engine-sessions BACKEND IMAGE
 *
 * Each line on stdin is said to all sessions at the same moment, and its answer is a line:
 * "FINE FAILED LONGEST_MS" and, where one failed, its code and words.
 *
 *	open N		N more, each with one run
 *	run SCRIPT	sh -c in each that is open
 *	put BYTES	a file of that size into each
 *	close		all of them
 *	row N		N sessions one after the other: opened, used, closed
 */
#include <llmsandbox/container.h>
#include <llmsandbox/files.h>
#include <llmsandbox/session.h>

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSIONS_MAX 256

struct one {
	struct sbx_session *session;
	const struct sbx_spec *spec;
	const char *argument;
	pthread_barrier_t *start;
	void (*act)(struct one *one);
	uint64_t took_ns;
	struct sbx_error err; /* .code is SBX_OK where all went well */
};

static struct one all[SESSIONS_MAX];
static size_t count;

/* ---- what one does ---- */

static int run(struct one *one, const char *script)
{
	struct sbx_command command = {.argv = (const char *const[]){"sh", "-c", script, NULL}};
	struct sbx_result *result = NULL;
	int r = sbx_session_exec(one->session, &command, &result, &one->err);

	if (r == 0 && result->exit_code != 0) {
		one->err.code = SBX_E_PROTOCOL;
		snprintf(one->err.msg, sizeof(one->err.msg), "exit code %d: %s", result->exit_code,
			 result->message);
		r = -1;
	}
	if (r == 0)
		one->err.code = SBX_OK;
	sbx_result_free(result);
	return r;
}

static void act_close(struct one *one)
{
	sbx_session_close(one->session);
	one->session = NULL;
	one->err.code = SBX_OK;
}

static void act_open(struct one *one)
{
	if (sbx_session_open(one->spec, &one->session, &one->err) < 0)
		return;
	if (run(one, "true") < 0) {
		sbx_session_close(one->session);
		one->session = NULL;
	}
}

static void act_run(struct one *one)
{
	run(one, one->argument);
}

static void act_put(struct one *one)
{
	size_t len = strtoul(one->argument, NULL, 10);
	char *data = calloc(1, len + 1);

	if (sbx_session_write_file(one->session, "file", data, len, SBX_WRITE_REPLACE, &one->err) == 0)
		one->err.code = SBX_OK;
	free(data);
}

/* ---- all at once ---- */

static void *thread_main(void *arg)
{
	struct one *one = arg;
	uint64_t start;

	pthread_barrier_wait(one->start);
	start = sbx_now_ns();
	one->act(one);
	one->took_ns = sbx_now_ns() - start;
	return NULL;
}

static void forget_failed(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (all[i].session != NULL)
			all[kept++] = all[i];
	}
	count = kept;
}

static void report(const struct one *first, size_t n)
{
	const struct one *failed = NULL;
	size_t fine = 0;
	uint64_t longest = 0;

	for (size_t i = 0; i < n; i++) {
		longest = first[i].took_ns > longest ? first[i].took_ns : longest;
		if (first[i].err.code == SBX_OK)
			fine++;
		else
			failed = &first[i];
	}
	printf("%zu %zu %llu", fine, n - fine, (unsigned long long)(longest / SBX_NS_PER_MS));
	if (failed != NULL)
		printf(" %s: %s", sbx_code_name(failed->err.code), failed->err.msg);
	printf("\n");
}

static void act_all(size_t from, void (*act)(struct one *one), const char *argument)
{
	pthread_t threads[SESSIONS_MAX];
	pthread_barrier_t start;
	size_t n = count - from;

	if (n > 0)
		pthread_barrier_init(&start, NULL, (unsigned int)n);
	for (size_t i = 0; i < n; i++) {
		struct one *one = &all[from + i];

		one->act = act;
		one->argument = argument;
		one->start = &start;
		if (pthread_create(&threads[i], NULL, thread_main, one) != 0)
			abort();
	}
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	if (n > 0)
		pthread_barrier_destroy(&start);
	report(all + from, n);
	forget_failed();
}

/* ---- lines ---- */

static void open_more(const struct sbx_spec *spec, size_t n)
{
	size_t from = count;

	if (n > SESSIONS_MAX - count)
		abort();
	for (size_t i = 0; i < n; i++)
		all[count++] = (struct one){.spec = spec};
	act_all(from, act_open, "");
}

static void make_row(const struct sbx_spec *spec, size_t n)
{
	struct one *row = calloc(n, sizeof(*row));

	for (size_t i = 0; i < n; i++) {
		uint64_t start = sbx_now_ns();

		row[i].spec = spec;
		act_open(&row[i]);
		row[i].took_ns = sbx_now_ns() - start;
		sbx_session_close(row[i].session);
		row[i].session = NULL;
	}
	report(row, n);
	free(row);
}

static void do_line(const struct sbx_spec *spec, char *line)
{
	char *argument = strchr(line, ' ');

	if (argument != NULL)
		*argument++ = '\0';
	else
		argument = line + strlen(line);
	if (strcmp(line, "open") == 0)
		open_more(spec, strtoul(argument, NULL, 10));
	else if (strcmp(line, "run") == 0)
		act_all(0, act_run, argument);
	else if (strcmp(line, "put") == 0)
		act_all(0, act_put, argument);
	else if (strcmp(line, "close") == 0)
		act_all(0, act_close, "");
	else if (strcmp(line, "row") == 0)
		make_row(spec, strtoul(argument, NULL, 10));
	else
		printf("what is '%s'?\n", line);
}

int main(int argc, char **argv)
{
	struct sbx_spec *spec = NULL;
	struct sbx_error err;
	char line[4096];

	if (argc != 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (sbx_spec_new(&spec, &err) < 0 || sbx_spec_set_backend(spec, argv[1], &err) < 0 ||
	    sbx_spec_set_image(spec, argv[2], &err) < 0) {
		printf("%s\n", err.msg);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		do_line(spec, line);
	}
	/* Who ends without a close is to leave nothing behind either. */
	sbx_spec_free(spec);
	return 0;
}
