/* SPDX-License-Identifier: MIT */
/*
 * What a set of libraries costs, as a Markdown table for docs/performance.md.
 *
 *	bench-libraries [LANGUAGE REQUIREMENT CODE [RUNS]]
 *
 * The set is installed into a cache of its own, which is the first use. Then runs that use it
 * take turns with runs that do not, each in a session of its own and in an open one; what the
 * libraries add is the difference of the medians.
 */
#include <llmsandbox/language.h>
#include <llmsandbox/library.h>
#include <llmsandbox/session.h>

#include "base/clock.h"
#include "base/io.h"
#include "series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_STANDARD 60
#define RUNS_MAX      100000
#define WARM_UP	      3

static const char *language = "python", *requirement = "six==1.16.0", *code = "pass";
static char folder[] = "/tmp/sbx-bench-XXXXXX";

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench-libraries: %s\n", what);
	sbx_remove_tree(folder);
	exit(1);
}

static void run_code(struct sbx_session *session, bool with)
{
	const char *const libraries[] = {requirement, NULL};
	struct sbx_run run = {
		.language = language,
		.code = code,
		.code_len = strlen(code),
		.libraries = with ? libraries : NULL,
	};
	struct sbx_result *result = NULL;
	struct sbx_error err;

	if (sbx_session_run(session, &run, &result, &err) < 0)
		die(err.msg);
	if (result->exit_code != 0)
		die(result->errout.data);
	sbx_result_free(result);
}

static uint64_t time_session(const struct sbx_spec *spec, bool with)
{
	struct sbx_session *session = NULL;
	uint64_t start = sbx_now_ns();
	struct sbx_error err;

	if (sbx_session_open(spec, &session, &err) < 0)
		die(err.msg);
	run_code(session, with);
	sbx_session_close(session);
	return sbx_now_ns() - start;
}

static uint64_t time_run(struct sbx_session *session, bool with)
{
	uint64_t start = sbx_now_ns();

	run_code(session, with);
	return sbx_now_ns() - start;
}

static double first_use_ms(void)
{
	const char *const requirements[] = {requirement, NULL};
	struct sbx_install how = {.language = language, .requirements = requirements};
	uint64_t start = sbx_now_ns();
	struct sbx_error err;

	if (sbx_library_add(&how, NULL, &err) < 0)
		die(err.msg);
	return series_ms(sbx_now_ns() - start);
}

static void print_row(const char *title, struct series *with, struct series *without)
{
	series_sort(with);
	series_sort(without);
	printf("| %s | %.2f ms | %.2f ms | %.2f ms |\n", title, series_median_ms(with),
	       series_median_ms(without), series_median_ms(with) - series_median_ms(without));
	free(with->ns);
	free(without->ns);
}

static void keep(struct series *s, uint64_t ns, size_t turn)
{
	if (turn >= WARM_UP)
		s->ns[s->count++] = ns;
}

static void measure(size_t runs)
{
	struct series with = series_new(runs), without = series_new(runs);
	struct series open_with = series_new(runs), open_without = series_new(runs);
	struct sbx_session *used = NULL, *plain = NULL;
	struct sbx_spec *spec = NULL, *no_libraries = NULL;
	struct sbx_error err;

	if (sbx_spec_new(&spec, &err) < 0 || sbx_spec_new(&no_libraries, &err) < 0)
		die(err.msg);
	sbx_spec_set_language(spec, language, NULL);
	sbx_spec_set_language(no_libraries, language, NULL);
	sbx_spec_use_libraries(no_libraries, false);
	if (sbx_session_open(spec, &used, &err) < 0 || sbx_session_open(no_libraries, &plain, &err) < 0)
		die(err.msg);
	for (size_t i = 0; i < runs + WARM_UP; i++) {
		keep(&with, time_session(spec, true), i);
		keep(&without, time_session(no_libraries, false), i);
		keep(&open_with, time_run(used, true), i);
		keep(&open_without, time_run(plain, false), i);
	}
	print_row("session open + run + close", &with, &without);
	print_row("run in an open session", &open_with, &open_without);
	sbx_session_close(used);
	sbx_session_close(plain);
	sbx_spec_free(spec);
	sbx_spec_free(no_libraries);
}

int main(int argc, char **argv)
{
	size_t runs = argc > 4 ? strtoul(argv[4], NULL, 10) : RUNS_STANDARD;

	if (argc > 3) {
		language = argv[1];
		requirement = argv[2];
		code = argv[3];
	}
	if (runs < 1 || runs > RUNS_MAX || mkdtemp(folder) == NULL)
		die("RUNS is a number from 1 to 100000");
	setenv("XDG_CACHE_HOME", folder, 1);
	if (sbx_language_prepare(language, NULL) < 0)
		die("there is no such language");
	printf("First use of `%s` (%s): %.0f ms\n\n", requirement, language, first_use_ms());
	printf("| %s, %zu runs | with the set | without | it adds |\n|---|---|---|---|\n", language, runs);
	measure(runs);
	sbx_remove_tree(folder);
	return 0;
}
