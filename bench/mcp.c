/* SPDX-License-Identifier: MIT */
/*
 * What the MCP server adds to a run, as a Markdown table for docs/performance.md.
 *
 *	bench-mcp LLM-SANDBOX-MCP [RUNS]
 *
 * A call of execute_code over stdio and the same run through the library take turns; the row of
 * clients is what 200 idle ones of the HTTP server cost it in memory. Where SBX_BENCH_PYTHON names
 * a Python with the official SDK, the last row is bench/peer.py, which runs code without isolation.
 */
#include <llmsandbox/session.h>

#include "base/clock.h"
#include "series.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNS_STANDARD 100
#define RUNS_MAX      100000
#define WARM_UP	      3
#define CLIENTS	      200

extern char **environ;

struct server {
	pid_t pid;
	FILE *to, *from;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench-mcp: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- the server ---- */

/* said: the descriptor on which the server says what we read. */
static struct server start(const char *const *argv, int said)
{
	posix_spawn_file_actions_t actions;
	struct server s;
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		die("pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], said);
	errno = posix_spawn(&s.pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	if (errno != 0)
		die(argv[0]);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	s.to = fdopen(in[1], "w");
	s.from = fdopen(out[0], "r");
	return s;
}

static void stop(struct server *s)
{
	fclose(s->to);
	kill(s->pid, SIGTERM);
	waitpid(s->pid, NULL, 0);
	fclose(s->from);
}

/* Send a line and take the next one, which must have the word. */
static uint64_t ask(struct server *s, const char *line, const char *word)
{
	static char answer[1 << 20];
	uint64_t begin = sbx_now_ns();

	fputs(line, s->to);
	fflush(s->to);
	if (fgets(answer, sizeof(answer), s->from) == NULL || strstr(answer, word) == NULL) {
		fprintf(stderr, "bench-mcp: no '%s' in the answer to %s", word, line);
		exit(1);
	}
	return sbx_now_ns() - begin;
}

static void initialize(struct server *s)
{
	ask(s,
	    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
	    "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n",
	    "serverInfo");
	fputs("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n", s->to);
}

static uint64_t call_hello(struct server *s)
{
	return ask(s,
		   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
		   "\"execute_code\",\"arguments\":{\"code\":\"print('hello')\"}}}\n",
		   "hello");
}

static uint64_t list_tools(struct server *s)
{
	return ask(s, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n", "execute_code");
}

/* From the start of the program to its first answer. */
static uint64_t start_up(const char *const *argv)
{
	uint64_t begin = sbx_now_ns();
	struct server s = start(argv, STDOUT_FILENO);

	initialize(&s);
	begin = sbx_now_ns() - begin;
	stop(&s);
	return begin;
}

/* ---- the library ---- */

static uint64_t run_hello(void)
{
	struct sbx_run run = {.language = "python", .code = "print('hello')", .code_len = 14};
	struct sbx_spec *spec = NULL;
	struct sbx_session *session = NULL;
	struct sbx_result *result = NULL;
	uint64_t begin = sbx_now_ns();
	struct sbx_error err;

	if (sbx_spec_new(&spec, &err) < 0 || sbx_spec_set_language(spec, "python", &err) < 0 ||
	    sbx_session_open(spec, &session, &err) < 0 ||
	    sbx_session_run(session, &run, &result, &err) < 0) {
		fprintf(stderr, "bench-mcp: %s\n", err.msg);
		exit(1);
	}
	sbx_result_free(result);
	sbx_session_close(session);
	sbx_spec_free(spec);
	return sbx_now_ns() - begin;
}

/* ---- the rows ---- */

static void run_calls(const char *program, size_t runs)
{
	const char *const argv[] = {program, NULL};
	struct server s = start(argv, STDOUT_FILENO);
	struct series ours = series_new(runs), library = series_new(runs), lists = series_new(runs);
	double call, run, list;

	initialize(&s);
	for (size_t i = 0; i < runs + WARM_UP; i++) {
		uint64_t a = call_hello(&s), b = run_hello(), c = list_tools(&s);

		if (i < WARM_UP)
			continue;
		ours.ns[ours.count++] = a;
		library.ns[library.count++] = b;
		lists.ns[lists.count++] = c;
	}
	stop(&s);
	series_sort(&ours);
	series_sort(&library);
	series_sort(&lists);
	call = series_median_ms(&ours);
	run = series_median_ms(&library);
	list = series_median_ms(&lists);
	printf("| `execute_code`, Python hello, over the library's own run (%.2f ms) | **%.2f** ms "
	       "more | ≤ 3 ms %s |\n",
	       run, call - run, call - run <= 3 ? "met" : "missed");
	printf("| `tools/list` | **%.2f** ms | < 1 ms %s |\n", list, list < 1 ? "met" : "missed");
	free(ours.ns);
	free(library.ns);
	free(lists.ns);
}

static void run_start_up(const char *program, size_t runs)
{
	const char *const argv[] = {program, NULL};
	struct series s = series_new(runs);
	double median;

	while (s.count < runs)
		s.ns[s.count++] = start_up(argv);
	series_sort(&s);
	median = series_median_ms(&s);
	printf("| start to the first answer | **%.2f** ms | < 50 ms %s |\n", median,
	       median < 50 ? "met" : "missed");
	free(s.ns);
}

/* Resident memory of the process in KiB. */
static long resident(pid_t pid)
{
	char path[64], line[256];
	long kib = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	if (file != NULL)
		fclose(file);
	return kib;
}

static unsigned short port_of(struct server *s)
{
	char line[256];
	const char *colon;

	if (fgets(line, sizeof(line), s->from) == NULL || (colon = strrchr(line, ':')) == NULL)
		die("the server did not say its address");
	return (unsigned short)strtoul(colon + 1, NULL, 10);
}

/* Connect, say initialize, and stay. */
static void add_client(unsigned short port)
{
	static const char body[] =
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
		"\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}";
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[65536];

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("connect");
	dprintf(fd,
		"POST /mcp HTTP/1.1\r\nHost: localhost:%u\r\nContent-Type: application/json\r\n"
		"Accept: application/json, text/event-stream\r\nContent-Length: %zu\r\n\r\n%s",
		port, sizeof(body) - 1, body);
	if (read(fd, answer, sizeof(answer)) <= 0)
		die("no answer");
}

static void run_clients(const char *program)
{
	const char *const argv[] = {program, "--http", "127.0.0.1:0", NULL};
	struct server s = start(argv, STDERR_FILENO);
	unsigned short port = port_of(&s);
	double before, after;

	add_client(port);
	before = (double)resident(s.pid) / 1024;
	for (int i = 0; i < CLIENTS; i++)
		add_client(port);
	after = (double)resident(s.pid) / 1024;
	stop(&s);
	printf("| %d idle HTTP clients (server: %.1f MiB) | **%.1f** MiB more | < 20 MB %s |\n", CLIENTS,
	       before, after - before, after - before < 19 ? "met" : "missed");
}

/* The same from a server of the usual kind. */
static void run_peer(const char *python, const char *script, size_t runs)
{
	const char *const argv[] = {python, script, NULL};
	struct series starts = series_new(runs), calls = series_new(runs);
	struct server s;

	for (size_t i = 0; i < runs; i++)
		starts.ns[starts.count++] = start_up(argv);
	s = start(argv, STDOUT_FILENO);
	initialize(&s);
	for (size_t i = 0; i < runs; i++)
		calls.ns[calls.count++] = call_hello(&s);
	stop(&s);
	series_sort(&starts);
	series_sort(&calls);
	printf("| a server of the Python SDK without isolation: start, call | %.0f ms, %.2f ms | |\n",
	       series_median_ms(&starts), series_median_ms(&calls));
	free(starts.ns);
	free(calls.ns);
}

int main(int argc, char **argv)
{
	unsigned long runs = argc > 2 ? strtoul(argv[2], NULL, 10) : RUNS_STANDARD;

	if (argc < 2 || argc > 3 || runs == 0 || runs > RUNS_MAX) {
		fprintf(stderr, "Usage: bench-mcp LLM-SANDBOX-MCP [RUNS]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("| MCP server, medians of %lu | | target |\n|---|---|---|\n", runs);
	run_calls(argv[1], runs);
	run_start_up(argv[1], runs);
	run_clients(argv[1]);
	if (getenv("SBX_BENCH_PYTHON") != NULL)
		run_peer(getenv("SBX_BENCH_PYTHON"), "bench/peer.py", runs < 20 ? runs : 20);
	return 0;
}
