/* SPDX-License-Identifier: MIT */
/*
 * What a cell of a warm kernel costs, as a Markdown table for docs/performance.md.
 *
 *	bench-kernels [RUNS]
 *
 * The same line of code is run as a cell, and again and again by the interpreter itself in one
 * cell that prints what each took, in milliseconds: what a cell takes beyond that is ours. Java's
 * is a JShell with the imports that jshell has from its start.
 */
#include <llmsandbox/kernel.h>
#include <llmsandbox/session.h>

#include "base/clock.h"
#include "series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_STANDARD 200
#define RUNS_MAX      100000
#define WARM_UP	      20

struct row {
	const char *title, *language, *variable; /* of the environment, or NULL */
	const char *code;
	const char *own; /* prints the milliseconds of one execution by the interpreter itself */
};

#define PYTHON_OWN                                                                 \
	"import time\n"                                                            \
	"def once():\n"                                                            \
	"    t = time.perf_counter()\n"                                            \
	"    exec(compile('y = 1 + 1', 'cell', 'exec'), {})\n"                     \
	"    return time.perf_counter() - t\n"                                     \
	"print(sorted(once() for _ in range(1000))[500] * 1000)"

static const struct row rows[] = {
	{"Python", "python", "LLM_SANDBOX_KERNEL=plain", "y = 1 + 1", PYTHON_OWN},
	{"Python, with IPython where it is installed", "python", NULL, "y = 1 + 1", PYTHON_OWN},
	{"JavaScript", "javascript", NULL, "y = 1 + 1; null",
	 "const vm = require('vm'); const ts = [];\n"
	 "for (let i = 0; i < 1000; i++) { const t = process.hrtime.bigint();\n"
	 "  vm.runInThisContext('y = 1 + 1; null'); ts.push(Number(process.hrtime.bigint() - t)); }\n"
	 "console.log(ts.sort((a, b) => a - b)[500] / 1e6)"},
	{"Ruby", "ruby", NULL, "y = 1 + 1; nil",
	 "ts = (1..1000).map { t = Process.clock_gettime(Process::CLOCK_MONOTONIC)\n"
	 "  eval('y = 1 + 1; nil')\n"
	 "  Process.clock_gettime(Process::CLOCK_MONOTONIC) - t }\n"
	 "puts ts.sort[500] * 1000; nil"},
	{"R", "r", NULL, "y <- 1 + 1",
	 "ts <- sapply(1:50, function(i) { t <- proc.time()[[3]]\n"
	 "  for (j in 1:100) eval(parse(text = 'y <- 1 + 1', keep.source = TRUE))\n"
	 "  (proc.time()[[3]] - t) / 100 })\n"
	 "cat(median(ts) * 1000)"},
	{"Java", "java", NULL, "y = 1 + 1;",
	 "{ var js = jdk.jshell.JShell.builder().executionEngine(\"local\").build(); js.eval(\"int y;\");\n"
	 "  for (String p : new String[] {\"io\", \"math\", \"net\", \"nio.file\", \"util\",\n"
	 "      \"util.concurrent\", \"util.function\", \"util.regex\", \"util.stream\"})\n"
	 "    js.eval(\"import java.\" + p + \".*;\");\n"
	 "  var ts = new java.util.ArrayList<Long>();\n"
	 "  for (int i = 0; i < 200; i++) { long t = System.nanoTime(); js.eval(\"y = 1 + 1;\");\n"
	 "    ts.add(System.nanoTime() - t); }\n"
	 "  java.util.Collections.sort(ts); System.out.println(ts.get(100) / 1e6); js.close(); }"},
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench-kernels: %s\n", what);
	exit(1);
}

/* NULL when the interpreter is not installed. */
static struct sbx_result *run_cell(struct sbx_session *session, const struct row *row,
				   const char *code)
{
	struct sbx_run run = {
		.language = row->language, .code = code, .code_len = strlen(code), .kernel = "bench"};
	struct sbx_result *result = NULL;
	struct sbx_error err;

	if (sbx_session_run(session, &run, &result, &err) == 0) {
		if (result->exit_code != 0)
			die(result->errout.data);
		return result;
	}
	if (err.code != SBX_E_NOT_FOUND)
		die(err.msg);
	return NULL;
}

static double own_ms(struct sbx_session *session, const struct row *row)
{
	struct sbx_result *result = run_cell(session, row, row->own);
	double ms = result ? strtod(result->out.data, NULL) : 0;

	sbx_result_free(result);
	return ms;
}

static void time_cells(struct sbx_session *session, const struct row *row, size_t runs,
		       struct series *ret)
{
	for (size_t i = 0; i < runs + WARM_UP; i++) {
		uint64_t start = sbx_now_ns();

		sbx_result_free(run_cell(session, row, row->code));
		if (i >= WARM_UP)
			ret->ns[ret->count++] = sbx_now_ns() - start;
	}
	series_sort(ret);
}

static void print_row(const struct row *row, size_t runs)
{
	struct series cells = series_new(runs);
	struct sbx_session *session = NULL;
	struct sbx_spec *spec = NULL;
	struct sbx_result *first;
	struct sbx_error err;
	uint64_t start;
	double start_ms, own;

	if (sbx_spec_new(&spec, &err) < 0 ||
	    (row->variable != NULL && sbx_spec_add_env(spec, row->variable, &err) < 0) ||
	    sbx_session_open(spec, &session, &err) < 0)
		die(err.msg);
	start = sbx_now_ns();
	first = run_cell(session, row, strcmp(row->language, "java") == 0 ? "int y = 0;" : row->code);
	start_ms = series_ms(sbx_now_ns() - start);
	if (first != NULL) {
		/* Compilers in the interpreter warm up on what comes first; that shall not be us. */
		own_ms(session, row);
		time_cells(session, row, runs, &cells);
		own = own_ms(session, row);
		printf("| %s | %.0f | **%.2f** | %.3f | **%.2f** |\n", row->title, start_ms,
		       series_median_ms(&cells), own, series_median_ms(&cells) - own);
	} else {
		printf("| %s | not installed | | | |\n", row->title);
	}
	sbx_result_free(first);
	sbx_session_close(session);
	sbx_spec_free(spec);
	free(cells.ns);
}

int main(int argc, char **argv)
{
	unsigned long runs = argc > 1 ? strtoul(argv[1], NULL, 10) : RUNS_STANDARD;

	if (argc > 2 || runs == 0 || runs > RUNS_MAX) {
		fprintf(stderr, "Usage: bench-kernels [RUNS]\n");
		return 2;
	}
	printf("| kernel, ms, median of %lu cells | first cell | warm cell | the interpreter's own | "
	       "beyond it |\n|---|---|---|---|---|\n",
	       runs);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		print_row(&rows[i], runs);
	return 0;
}
