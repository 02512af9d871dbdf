/* SPDX-License-Identifier: MIT */
/*
 * How much a sandbox costs, as a Markdown table for docs/performance.md.
 *
 *	bench-run LLM-SANDBOX [RUNS]
 *
 * Each row compares two commands that take turns within one run, so that what else the machine
 * does meets both; the ratio is that of their medians. The last rows time 20 MB of output
 * through the library. `bench-run --write BYTES` is the program that writes them.
 */
#include <llmsandbox/session.h>

#include "base/clock.h"
#include "series.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNS_STANDARD 200
#define RUNS_MAX      100000
#define WARM_UP	      3
#define OUTPUT_BYTES  20000000ull
#define OUTPUT_RUNS   21

extern char **environ;

/* Two commands that take turns, and how much slower the first may be. */
struct pair {
	const char *title;
	const char *const *ours, *const *other;
	double target;
};

static void die(const char *what)
{
	fprintf(stderr, "bench-run: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- commands ---- */

static uint64_t time_command(const char *const *argv)
{
	posix_spawn_file_actions_t quiet;
	uint64_t start;
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	start = sbx_now_ns();
	errno = posix_spawnp(&pid, argv[0], &quiet, NULL, (char *const *)argv, environ);
	if (errno != 0)
		die(argv[0]);
	if (waitpid(pid, &status, 0) < 0)
		die("waitpid");
	start = sbx_now_ns() - start;
	posix_spawn_file_actions_destroy(&quiet);
	if (status != 0) {
		fprintf(stderr, "bench-run: %s ended with status %#x\n", argv[0], status);
		exit(1);
	}
	return start;
}

static void run_pair(const struct pair *pair, size_t runs)
{
	struct series ours = series_new(runs), other = series_new(runs);
	double ratio;

	for (size_t i = 0; i < runs + WARM_UP; i++) {
		uint64_t a = time_command(pair->ours), b = time_command(pair->other);

		if (i < WARM_UP)
			continue;
		ours.ns[ours.count++] = a;
		other.ns[other.count++] = b;
	}
	series_sort(&ours);
	series_sort(&other);
	ratio = series_median_ms(&ours) / series_median_ms(&other);
	printf("| %s | %.2f | **%.2f** | %.2f | %.2f / %.2f / %.2f | %.2f | ≤ %.2f %s |\n",
	       pair->title, series_ms(ours.ns[0]), series_median_ms(&ours), series_ms(ours.ns[runs - 1]), series_ms(other.ns[0]),
	       series_median_ms(&other), series_ms(other.ns[runs - 1]), ratio, pair->target,
	       ratio <= pair->target ? "met" : "missed");
	fflush(stdout);
	free(ours.ns);
	free(other.ns);
}

static void run_pairs(const char *program, size_t runs)
{
	const char *const ours_true[] = {program, "exec", "--", "/usr/bin/true", NULL};
	const char *const bwrap_true[] = {
		"bwrap",  "--unshare-all", "--ro-bind", "/usr",	 "/usr",  "--symlink", "usr/lib",
		"/lib",	  "--symlink",	   "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin",
		"--proc", "/proc",	   "--dev",	"/dev",	 "--tmpfs", "/tmp", "/usr/bin/true",
		NULL};
	const char *const ours_hello[] = {program, "run", "-l", "python", "-c", "print('hello')",
					  NULL};
	const char *const bare_hello[] = {"/usr/bin/python3", "-c", "print('hello')", NULL};
	const struct pair pairs[] = {
		{"`exec -- /usr/bin/true` against `bwrap --unshare-all`", ours_true, bwrap_true, 1.0},
		{"`run -l python` hello against bare `python3 -c`", ours_hello, bare_hello, 1.35},
	};

	printf("| wall time in ms, %zu runs | min | median | max | other: min / median / max | ratio "
	       "| target |\n|---|---|---|---|---|---|---|\n",
	       runs);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		run_pair(&pairs[i], runs);
}

/* ---- output ---- */

static int write_zeros(uint64_t bytes)
{
	static char piece[65536];

	while (bytes > 0) {
		size_t len = bytes < sizeof(piece) ? (size_t)bytes : sizeof(piece);
		ssize_t n = write(1, piece, len);

		if (n < 0)
			return 1;
		bytes -= (uint64_t)n;
	}
	return 0;
}

static struct sbx_session *open_session(uint64_t head_bytes, struct sbx_spec **ret_spec)
{
	struct sbx_session *session = NULL;
	struct sbx_error err;
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	if (sbx_spec_new(ret_spec, &err) < 0 ||
	    sbx_spec_set_limit(*ret_spec, SBX_LIMIT_HEAD_BYTES, head_bytes, &err) < 0 ||
	    sbx_spec_add_mount(*ret_spec, self, "/bench-run", false, &err) < 0 ||
	    sbx_session_open(*ret_spec, &session, &err) < 0) {
		fprintf(stderr, "bench-run: %s\n", err.msg);
		exit(1);
	}
	return session;
}

static void run_output_once(struct sbx_session *session, struct series *s)
{
	static const char *const argv[] = {"/bench-run", "--write", "20000000", NULL};
	struct sbx_command command = {.argv = argv};
	struct sbx_result *result = NULL;
	struct sbx_error err;

	if (sbx_session_exec(session, &command, &result, &err) < 0) {
		fprintf(stderr, "bench-run: %s\n", err.msg);
		exit(1);
	}
	if (result->exit_code != 0 || result->out.total_bytes != OUTPUT_BYTES) {
		fprintf(stderr, "bench-run: only %llu bytes came, exit code %d: %s\n",
			(unsigned long long)result->out.total_bytes, result->exit_code,
			result->errout.data);
		exit(1);
	}
	s->ns[s->count++] = result->timings.run;
	sbx_result_free(result);
}

static double megabytes_per_second(uint64_t ns)
{
	return (double)OUTPUT_BYTES * 1e3 / (double)ns;
}

/* In a process of its own, whose peak memory is then that of this row. */
static void run_output(const char *title, uint64_t head_bytes)
{
	struct series s = series_new(OUTPUT_RUNS);
	struct sbx_spec *spec;
	struct sbx_session *session = open_session(head_bytes, &spec);
	struct rusage usage;
	double rate;

	for (int i = 0; i < OUTPUT_RUNS; i++)
		run_output_once(session, &s);
	sbx_session_close(session);
	sbx_spec_free(spec);
	series_sort(&s);
	getrusage(RUSAGE_SELF, &usage);
	rate = megabytes_per_second(s.ns[s.count / 2]);
	printf("| %s | %.0f | **%.0f** | %.0f | %.1f | > 500 %s |\n", title,
	       megabytes_per_second(s.ns[s.count - 1]), rate, megabytes_per_second(s.ns[0]),
	       (double)usage.ru_maxrss / 1024, rate > 500 ? "met" : "missed");
	free(s.ns);
}

static void run_output_apart(const char *title, uint64_t head_bytes)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		run_output(title, head_bytes);
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		exit(1);
}

int main(int argc, char **argv)
{
	unsigned long runs = argc > 2 ? strtoul(argv[2], NULL, 10) : RUNS_STANDARD;

	if (argc == 3 && strcmp(argv[1], "--write") == 0)
		return write_zeros(strtoull(argv[2], NULL, 10));
	if (argc < 2 || argc > 3 || runs == 0 || runs > RUNS_MAX) {
		fprintf(stderr, "Usage: bench-run LLM-SANDBOX [RUNS]\n");
		return 2;
	}
	run_pairs(argv[1], runs);
	printf("\n| 20 MB of output, MB/s, %d runs | min | median | max | peak memory of the host "
	       "process, MiB | target |\n|---|---|---|---|---|---|\n",
	       OUTPUT_RUNS);
	run_output_apart("standard limits: 1 MiB + 256 KiB kept", 1u << 20);
	run_output_apart("all of it kept", OUTPUT_BYTES);
	return 0;
}
