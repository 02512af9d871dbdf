/* SPDX-License-Identifier: MIT */
/*
 * What artifacts cost, as a Markdown table for docs/performance.md.
 *
 *	bench-artifacts [RUNS]
 *
 * Runs that want artifacts take turns with runs that do not, in an open session; what they add is
 * the difference of the medians. A program that saves a figure also measures that alone, inside.
 */
#include <llmsandbox/session.h>

#include "base/clock.h"
#include "series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_STANDARD 40
#define RUNS_MAX      100000
#define WARM_UP	      3

static const char nothing[] = "pass\n";
static const char files[] = "for i in range(10): open(f'{i}.csv', 'w').write('a,b')\n";
static const char figure[] =
	"import time\n"
	"import matplotlib\n"
	"matplotlib.use('agg')\n"
	"import matplotlib.pyplot as plt\n"
	"plt.plot(range(100)); plt.title('T'); plt.legend(['l'])\n"
	"plt.savefig('warm.png')\n"
	"start = time.perf_counter_ns()\n"
	"for i in range(10): plt.savefig('f.png')\n"
	"print((time.perf_counter_ns() - start) // 10)\n"
	"plt.close()\n";

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench-artifacts: %s\n", what);
	exit(1);
}

/* The run's time, and in *ret_inside what the program printed. */
static uint64_t time_run(struct sbx_session *session, const char *language, const char *code,
			 bool with, uint64_t *ret_inside)
{
	struct sbx_run run = {
		.language = language,
		.code = code,
		.code_len = strlen(code),
		.io = {.artifacts = with},
	};
	struct sbx_result *result = NULL;
	struct sbx_error err;
	uint64_t start = sbx_now_ns(), took;

	if (sbx_session_run(session, &run, &result, &err) < 0)
		die(err.msg);
	took = sbx_now_ns() - start;
	if (result->exit_code != 0)
		die(result->errout.data);
	*ret_inside = strtoull(result->out.data, NULL, 10);
	sbx_result_free(result);
	return took;
}

static void print_row(const char *title, struct series *with, struct series *without)
{
	double a, b;

	series_sort(with);
	series_sort(without);
	a = series_median_ms(with);
	b = series_median_ms(without);
	printf("| %s | %.2f ms | %.2f ms | %.2f ms (%.1f %%) |\n", title, a, b, a - b, (a - b) / b * 100);
	free(with->ns);
	free(without->ns);
}

struct program {
	const char *title, *language, *code;
	const char *inside; /* what it measures by itself; or NULL */
};

static void measure(struct sbx_session *session, const struct program *p, size_t runs)
{
	struct series whole[2] = {series_new(runs), series_new(runs)};
	struct series inside[2] = {series_new(runs), series_new(runs)};

	for (size_t i = 0; i < runs + WARM_UP; i++) {
		for (int with = 0; with < 2; with++) {
			uint64_t printed;
			uint64_t took = time_run(session, p->language, p->code, with, &printed);

			if (i < WARM_UP)
				continue;
			whole[with].ns[whole[with].count++] = took;
			inside[with].ns[inside[with].count++] = printed;
		}
	}
	print_row(p->title, &whole[1], &whole[0]);
	if (p->inside != NULL) {
		print_row(p->inside, &inside[1], &inside[0]);
	} else {
		free(inside[0].ns);
		free(inside[1].ns);
	}
}

int main(int argc, char **argv)
{
	static const struct program programs[] = {
		{"Python that shows nothing", "python", nothing, NULL},
		{"Python that writes ten files", "python", files, NULL},
		{"R that shows nothing", "r", "invisible(1)\n", NULL},
		{"Python that saves eleven figures", "python", figure, "one `savefig`, inside"},
	};
	size_t runs = argc > 1 ? strtoul(argv[1], NULL, 10) : RUNS_STANDARD;
	struct sbx_session *session = NULL;
	struct sbx_spec *spec = NULL;
	struct sbx_error err;

	if (runs < 1 || runs > RUNS_MAX)
		die("RUNS is a number from 1 to 100000");
	if (sbx_spec_new(&spec, &err) < 0)
		die(err.msg);
	sbx_spec_use_support(spec, true);
	sbx_spec_set_limit(spec, SBX_LIMIT_DISK_BYTES, (uint64_t)4 << 30, NULL);
	if (sbx_session_open(spec, &session, &err) < 0)
		die(err.msg);
	printf("| a run in an open session, %zu runs | with artifacts | without | they add |\n"
	       "|---|---|---|---|\n", runs);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		measure(session, &programs[i], runs);
	sbx_session_close(session);
	sbx_spec_free(spec);
	return 0;
}
