/* SPDX-License-Identifier: MIT */
/* Nothing is left of named sessions, however their holder ends. */
#include "support/census.h"
#include "support/sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETTLE_MS 20000u

extern char **environ;

/* Run the program under test with these words, to its end; its exit status. */
static int run(const char *const *words)
{
	const char *program = getenv("SBX_PROGRAM");
	char *argv[16] = {(char *)"llm-sandbox"};
	posix_spawn_file_actions_t quiet;
	int status, n = 1;
	pid_t pid;

	for (; words[n - 1] != NULL; n++)
		argv[n] = (char *)words[n - 1];
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	assert_int_equal(posix_spawn(&pid, program, &quiet, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&quiet);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

static pid_t holder_pid(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/llm-sandbox/holder.sock",
		 geteuid() == 0 ? "/run"
		 : runtime	? runtime
				: "/nonexistent");
	assert_int_equal(connect(sock, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len), 0);
	close(sock);
	return peer.pid;
}

/* Sessions with files, a program in the background, and one that left processes behind. */
static void fill_sessions(void)
{
	assert_int_equal(RUN("session", "start", "a"), 0);
	assert_int_equal(RUN("session", "start", "b", "--holder-idle", "100ms"), 0);
	assert_int_equal(RUN("exec", "-S", "a", "-b", "--", "sh", "-c", "sleep 1001 & sleep 1002"),
			 0);
	assert_int_equal(RUN("exec", "-S", "a", "--", "sh", "-c", "sleep 1003 & echo x > f"), 0);
	assert_int_equal(RUN("cp", "/etc/passwd", "b:"), 0);
}

/* The first life makes what stays on purpose: the runtime folder and its locks. */
static void count_before(struct census *ret)
{
	assert_int_equal(RUN("session", "start", "first"), 0);
	assert_int_equal(RUN("session", "stop", "--all"), 0);
	census_take(ret);
	/* The holder of that life may still be ending. */
	while (census_runs("llm-sandbox holder"))
		usleep(10000);
	census_take(ret);
}

static void a_killed_holder_leaves_nothing(void **state)
{
	unsigned long lives = test_size(5, 30, 100);
	struct census before;

	(void)state;
	count_before(&before);
	for (unsigned long i = 0; i < lives; i++) {
		fill_sessions();
		kill(holder_pid(), SIGKILL);
		census_expect_processes(&before, SETTLE_MS);
	}
	/* The next life sweeps what a killed one could not remove. */
	assert_int_equal(RUN("session", "start", "last"), 0);
	assert_int_equal(RUN("session", "stop", "--all"), 0);
	census_expect(&before, SETTLE_MS);
}

static void a_stopped_holder_leaves_nothing(void **state)
{
	unsigned long lives = test_size(5, 30, 100);
	struct census before;

	(void)state;
	count_before(&before);
	for (unsigned long i = 0; i < lives; i++) {
		fill_sessions();
		if (i % 2 == 0)
			kill(holder_pid(), SIGTERM);
		else
			assert_int_equal(RUN("session", "stop", "--all"), 0);
		census_expect(&before, SETTLE_MS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_holder_leaves_nothing),
		cmocka_unit_test(a_stopped_holder_leaves_nothing),
	};

	if (getenv("SBX_PROGRAM") == NULL) {
		printf("1..0 # SKIP SBX_PROGRAM does not name llm-sandbox\n");
		return 0;
	}
	census_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
