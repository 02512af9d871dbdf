/* SPDX-License-Identifier: MIT */
/*
 * How fast files go in and out, as rows for docs/performance.md: one large file and a tree of
 * small ones, against cp(1) from one folder in memory to another.
 *
 *	bench-files [MIB [RUNS]]
 *
 * MIB is the size of the file (1024); at the peak there are three of it in memory. Copies take
 * turns with cp within one run, and each writes to a new file.
 */
#include <llmsandbox/files.h>

#include "base/clock.h"
#include "base/io.h"
#include "series.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB_STANDARD  1024ul
#define MIB_MAX	      16384ul
#define RUNS_STANDARD 7ul
#define RUNS_MAX      1000ul
#define TREE_FOLDERS  10
#define TREE_FILES    1000 /* in each */
#define TARGET	      0.6

extern char **environ;

static char folder[] = "/dev/shm/bench-files-XXXXXX";

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench-files: %s\n", what);
	sbx_remove_tree(folder);
	exit(1);
}

static const char *in_folder(const char *name)
{
	static char paths[4][128];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

/* ---- what is copied ---- */

static void make_file(const char *name, size_t bytes)
{
	static char piece[1 << 20];
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	memset(piece, 'x', sizeof(piece));
	for (size_t left = bytes; fd >= 0 && left > 0;) {
		size_t n = left < sizeof(piece) ? left : sizeof(piece);

		if (sbx_write_all(fd, piece, n) < 0)
			die("cannot write the file: is there memory for three of them?");
		left -= n;
	}
	if (fd < 0)
		die("cannot make a file in /dev/shm");
	close(fd);
}

static void make_tree(void)
{
	char name[64];

	mkdir(in_folder("tree"), 0755);
	for (int i = 0; i < TREE_FOLDERS; i++) {
		snprintf(name, sizeof(name), "tree/%d", i);
		mkdir(in_folder(name), 0755);
		for (int k = 0; k < TREE_FILES; k++) {
			snprintf(name, sizeof(name), "tree/%d/%d", i, k);
			make_file(name, 1000);
		}
	}
}

/* ---- one copy each ---- */

static uint64_t time_cp(const char *from, const char *to)
{
	const char *const argv[] = {"cp", "-r", in_folder(from), in_folder(to), NULL};
	uint64_t start = sbx_now_ns();
	int status;
	pid_t pid;

	errno = posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ);
	if (errno != 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		die("cp failed");
	start = sbx_now_ns() - start;
	sbx_remove_tree(in_folder(to));
	return start;
}

static uint64_t time_put(struct sbx_session *session, const char *name)
{
	uint64_t start = sbx_now_ns();
	struct sbx_error err;

	if (sbx_session_put(session, in_folder(name), "copy", NULL, NULL, &err) < 0)
		die(err.msg);
	return sbx_now_ns() - start;
}

static uint64_t time_get(struct sbx_session *session)
{
	uint64_t start = sbx_now_ns();
	struct sbx_error err;

	if (sbx_session_get(session, "copy", in_folder("out"), NULL, NULL, &err) < 0)
		die(err.msg);
	start = sbx_now_ns() - start;
	if (sbx_session_remove_file(session, "copy", true, &err) < 0)
		die(err.msg);
	sbx_remove_tree(in_folder("out"));
	return start;
}

/* ---- rows ---- */

static void print_row(const char *what, const char *way, struct series *ours, struct series *cp)
{
	double ratio = series_median_ms(cp) / series_median_ms(ours);

	printf("| %s, %s | %.1f | **%.1f** | %.1f | %.1f | %.2f | ≥ %.2f × cp %s |\n", what, way,
	       series_ms(ours->ns[0]), series_median_ms(ours), series_ms(ours->ns[ours->count - 1]),
	       series_median_ms(cp), ratio, TARGET, ratio >= TARGET ? "met" : "missed");
	fflush(stdout);
}

static void run_rows(struct sbx_session *session, const char *what, const char *name, size_t runs)
{
	struct series in = series_new(runs), out = series_new(runs), cp = series_new(runs);

	/* The first is not counted: the sandbox is on its way, and memory is new. */
	for (size_t i = 0; i < runs + 1; i++) {
		uint64_t a = time_cp(name, "cp"), b = time_put(session, name), c = time_get(session);

		if (i == 0)
			continue;
		cp.ns[cp.count++] = a;
		in.ns[in.count++] = b;
		out.ns[out.count++] = c;
	}
	series_sort(&in);
	series_sort(&out);
	series_sort(&cp);
	print_row(what, "in", &in, &cp);
	print_row(what, "out", &out, &cp);
	free(in.ns);
	free(out.ns);
	free(cp.ns);
}

static struct sbx_session *open_session(unsigned long mib, struct sbx_spec **ret_spec)
{
	struct sbx_session *session = NULL;
	uint64_t bytes = (uint64_t)(mib + 512) << 20;
	struct sbx_error err;

	if (sbx_spec_new(ret_spec, &err) < 0 ||
	    sbx_spec_set_limit(*ret_spec, SBX_LIMIT_DISK_BYTES, bytes, &err) < 0 ||
	    sbx_spec_set_limit(*ret_spec, SBX_LIMIT_MEMORY_BYTES, 2 * bytes, &err) < 0 ||
	    sbx_session_open(*ret_spec, &session, &err) < 0)
		die(err.msg);
	return session;
}

int main(int argc, char **argv)
{
	unsigned long mib = argc > 1 ? strtoul(argv[1], NULL, 10) : MIB_STANDARD;
	unsigned long runs = argc > 2 ? strtoul(argv[2], NULL, 10) : RUNS_STANDARD;
	struct sbx_session *session;
	struct sbx_spec *spec;
	char what[64];

	if (argc > 3 || mib == 0 || mib > MIB_MAX || runs == 0 || runs > RUNS_MAX) {
		fprintf(stderr, "Usage: bench-files [MIB [RUNS]]\n");
		return 2;
	}
	if (mkdtemp(folder) == NULL)
		die("cannot make a folder in /dev/shm");
	make_file("file", (size_t)mib << 20);
	make_tree();
	session = open_session(mib, &spec);
	printf("| copies in ms, %lu runs | min | median | max | cp, median | cp / ours | target |\n"
	       "|---|---|---|---|---|---|---|\n",
	       runs);
	snprintf(what, sizeof(what), "a file of %lu MiB", mib);
	run_rows(session, what, "file", runs);
	snprintf(what, sizeof(what), "%d files of 1 kB", TREE_FOLDERS * TREE_FILES);
	run_rows(session, what, "tree", runs);
	sbx_session_close(session);
	sbx_spec_free(spec);
	sbx_remove_tree(folder);
	return 0;
}
