/* SPDX-License-Identifier: MIT */
/*
 * How fast bytes come through the sandbox's proxy, against a plain connection over loopback, as a
 * Markdown table for docs/performance.md.
 *
 *	bench-network [RUNS]
 *
 * Both read the same bytes from the same server, a process of its own; they take turns.
 * `bench-network --read PORT [PROXY-PORT]` is the program that reads them, here and inside.
 */
#include <llmsandbox/network.h>
#include <llmsandbox/session.h>

#include "base/clock.h"
#include "series.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES	      (1ull << 30)
#define RUNS_STANDARD 5
#define WARM_UP	      1
#define PIECE	      65536

static void die(const char *what)
{
	fprintf(stderr, "bench-network: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct sockaddr_in loopback(unsigned int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

/* ---- the server ---- */

static void serve_one(int fd)
{
	static char piece[PIECE];
	uint64_t left = BYTES;

	while (left > 0) {
		ssize_t n = send(fd, piece, left < PIECE ? left : PIECE, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		left -= (uint64_t)n;
	}
}

static pid_t start_server(unsigned int *ret_port)
{
	struct sockaddr_in at = loopback(0);
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	if (listener < 0 || bind(listener, (struct sockaddr *)&at, len) < 0 || listen(listener, 8) < 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &len) < 0)
		die("server");
	*ret_port = ntohs(at.sin_port);
	pid = fork();
	if (pid != 0)
		return close(listener), pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			continue;
		serve_one(fd);
		close(fd);
	}
}

/* ---- the reader ---- */

static void ask_proxy(int fd, const char *port)
{
	char text[128];
	size_t len = 0;

	dprintf(fd, "CONNECT 127.0.0.1:%s HTTP/1.1\r\n\r\n", port);
	while (len < 4 || memcmp(text + len - 4, "\r\n\r\n", 4) != 0) {
		if (len == sizeof(text) || read(fd, text + len, 1) != 1)
			die("the proxy said no");
		len++;
	}
}

/* Prints the nanoseconds that BYTES took. */
static int read_all(const char *port, const char *proxy_port)
{
	static char piece[PIECE];
	struct sockaddr_in to = loopback((unsigned int)atoi(proxy_port ? proxy_port : port));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t start = sbx_now_ns(), got = 0;
	ssize_t n;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("connect");
	if (proxy_port != NULL)
		ask_proxy(fd, port);
	while ((n = read(fd, piece, sizeof(piece))) > 0)
		got += (uint64_t)n;
	if (got != BYTES)
		die("too few bytes came");
	printf("%" PRIu64 "\n", sbx_now_ns() - start);
	return 0;
}

static uint64_t read_direct(const char *self, const char *port)
{
	char command[512];
	uint64_t ns = 0;
	FILE *out;

	snprintf(command, sizeof(command), "'%s' --read %s", self, port);
	out = popen(command, "r");
	if (out == NULL || fscanf(out, "%" SCNu64, &ns) != 1 || pclose(out) != 0)
		die("a plain connection");
	return ns;
}

/* ---- the sandbox ---- */

static void check(int r, const struct sbx_error *err)
{
	if (r == 0)
		return;
	fprintf(stderr, "bench-network: %s\n", err->msg);
	exit(1);
}

static struct sbx_session *open_session(const char *self, const char *port, struct sbx_spec **spec)
{
	struct sbx_network *network;
	struct sbx_session *session;
	struct sbx_error err;
	char rule[64];

	snprintf(rule, sizeof(rule), "127.0.0.1:%s", port);
	check(sbx_network_new(SBX_NETWORK_ALLOW, &network, &err), &err);
	check(sbx_network_allow(network, rule, false, &err), &err);
	check(sbx_spec_new(spec, &err), &err);
	check(sbx_spec_add_mount(*spec, self, "/opt/bench-network", false, &err), &err);
	check(sbx_spec_set_limit(*spec, SBX_LIMIT_CPU_MILLI, 4000, &err), &err);
	check(sbx_spec_set_network(*spec, network, &err), &err);
	check(sbx_session_open(*spec, &session, &err), &err);
	sbx_network_free(network);
	return session;
}

static uint64_t read_proxied(struct sbx_session *session, const char *port)
{
	static const char script[] = "exec /opt/bench-network --read $1 ${http_proxy##*:}";
	const char *argv[] = {"/bin/sh", "-c", script, "sh", port, NULL};
	struct sbx_command command = {.argv = argv};
	struct sbx_result *result;
	struct sbx_error err;
	uint64_t ns;

	check(sbx_session_exec(session, &command, &result, &err), &err);
	if (result->exit_code != 0 || sscanf(result->out.data, "%" SCNu64, &ns) != 1) {
		fprintf(stderr, "bench-network: inside: %s\n", result->errout.data);
		exit(1);
	}
	sbx_result_free(result);
	return ns;
}

int main(int argc, char **argv)
{
	size_t runs = argc > 1 && argv[1][0] != '-' ? (size_t)atoi(argv[1]) : RUNS_STANDARD;
	char self[4096] = "", port[16];
	struct sbx_session *session;
	struct sbx_spec *spec;
	struct series direct, proxied;
	unsigned int number;
	pid_t server;

	if (argc > 2 && strcmp(argv[1], "--read") == 0)
		return read_all(argv[2], argc > 3 ? argv[3] : NULL);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		die("/proc/self/exe");
	server = start_server(&number);
	snprintf(port, sizeof(port), "%u", number);
	session = open_session(self, port, &spec);
	direct = series_new(runs);
	proxied = series_new(runs);
	for (size_t i = 0; i < runs + WARM_UP; i++) {
		uint64_t a = read_direct(self, port), b = read_proxied(session, port);

		if (i < WARM_UP)
			continue;
		direct.ns[i - WARM_UP] = a;
		proxied.ns[i - WARM_UP] = b;
	}
	series_sort(&direct);
	series_sort(&proxied);
	printf("| through the proxy, 1 GiB | direct | MB/s | MB/s direct | speed | target |\n");
	printf("|---|---|---|---|---|---|\n");
	printf("| %.0f ms | %.0f ms | %.0f | %.0f | %.2f | 0.50 |\n", series_median_ms(&proxied),
	       series_median_ms(&direct), (double)BYTES / 1e3 / series_median_ms(&proxied),
	       (double)BYTES / 1e3 / series_median_ms(&direct),
	       series_median_ms(&direct) / series_median_ms(&proxied));
	sbx_session_close(session);
	sbx_spec_free(spec);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	free(direct.ns);
	free(proxied.ns);
	return 0;
}
