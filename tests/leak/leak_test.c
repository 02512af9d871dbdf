/* SPDX-License-Identifier: MIT */
/*
 * Nothing is left of a sandbox, however it ends: by itself, or with its program, its agent or
 * the program that owns it killed at a random moment. The moments come from a fixed seed.
 */
#include "base/clock.h"
#include "support/census.h"
#include "support/sandbox.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SEED		 20261130u
#define LATEST_US	 40000u /* after the start: a sandbox takes some 10 ms to make */
#define SETTLE_MS	 20000u
#define DESCENDANTS_MAX 256

extern char **environ;

/* One sandbox from open to close; what it comes to does not matter here. */
static void one_life(const struct sbx_spec *spec, const char *script)
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct sbx_command command = {.argv = argv, .io = {.timeout_ms = 20000}};
	struct sbx_session *session = NULL;
	struct sbx_result *result = NULL;

	if (sbx_session_open(spec, &session, NULL) == 0)
		sbx_session_exec(session, &command, &result, NULL);
	sbx_result_free(result);
	sbx_session_close(session);
}

/* The first life makes what stays on purpose, such as the runtime folder. */
static void count_before(struct test_sandbox *t, struct census *ret)
{
	one_life(t->spec, "true");
	census_take(ret);
}

/* When all are dead, a last normal life sweeps what a killed owner could not remove. */
static void expect_nothing_left(struct test_sandbox *t, const struct census *before)
{
	census_expect_processes(before, SETTLE_MS);
	one_life(t->spec, "true");
	census_expect(before, SETTLE_MS);
}

static void runs_leave_nothing(void **state)
{
	struct test_sandbox *t = *state;
	static const char *const scripts[] = {
		"true", "sleep 100 & setsid sleep 100 & exit 1", "echo x > /tmp/f; mkfifo /tmp/p",
		"kill -9 $$", "head -c 3000000 /dev/zero"};
	unsigned long runs = test_size(200, 2000, 2000);
	struct census before;

	count_before(t, &before);
	for (unsigned long i = 0; i < runs; i++)
		one_life(t->spec, scripts[i % (sizeof(scripts) / sizeof(scripts[0]))]);
	expect_nothing_left(t, &before);
}

/* ---- kills ---- */

static void wait_a_moment(unsigned int *seed)
{
	struct timespec t = {.tv_nsec = (long)((unsigned int)rand_r(seed) % LATEST_US) * 1000};

	nanosleep(&t, NULL);
}

struct life {
	pthread_t thread;
	const struct sbx_spec *spec;
	atomic_bool over;
};

static void *live(void *userdata)
{
	struct life *life = userdata;

	one_life(life->spec, "sleep 1000 & exec sleep 1001");
	atomic_store(&life->over, true);
	return NULL;
}

/* Kill one process of ours: a child (the agent), or one below it (a program). */
static void kill_one(bool agent)
{
	pid_t pids[DESCENDANTS_MAX];
	size_t count = census_descendants(getpid(), pids, DESCENDANTS_MAX);

	for (size_t i = 0; i < count; i++) {
		if ((census_parent(pids[i]) == getpid()) == agent) {
			kill(pids[i], SIGKILL);
			return;
		}
	}
}

static void end_lives(struct test_sandbox *t, bool agent, unsigned long lives)
{
	unsigned int seed = SEED;

	for (unsigned long i = 0; i < lives; i++) {
		struct life life = {.spec = t->spec};

		assert_int_equal(pthread_create(&life.thread, NULL, live, &life), 0);
		wait_a_moment(&seed);
		/* Again until it is over: what is to be killed may not be there yet. */
		while (!atomic_load(&life.over)) {
			kill_one(agent);
			usleep(1000);
		}
		pthread_join(life.thread, NULL);
	}
}

static void a_killed_program_leaves_nothing(void **state)
{
	struct test_sandbox *t = *state;
	struct census before;

	count_before(t, &before);
	end_lives(t, false, test_size(67, 667, 667));
	expect_nothing_left(t, &before);
}

static void a_killed_agent_leaves_nothing(void **state)
{
	struct test_sandbox *t = *state;
	struct census before;

	count_before(t, &before);
	end_lives(t, true, test_size(67, 667, 667));
	expect_nothing_left(t, &before);
}

static void a_killed_owner_leaves_nothing(void **state)
{
	struct test_sandbox *t = *state;
	const char *program = getenv("SBX_PROGRAM");
	char *argv[] = {(char *)program, (char *)"exec", (char *)"--", (char *)"/bin/sh",
			(char *)"-c",    (char *)"sleep 1000 & sleep 1001", NULL};
	unsigned long lives = test_size(66, 666, 666);
	unsigned int seed = SEED;
	posix_spawn_file_actions_t quiet;
	struct census before;

	if (program == NULL) {
		test_skip_promised("SBX_PROGRAM does not name llm-sandbox");
		return;
	}
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
	count_before(t, &before);
	for (unsigned long i = 0; i < lives; i++) {
		int status;
		pid_t pid;

		assert_int_equal(posix_spawn(&pid, program, &quiet, NULL, argv, environ), 0);
		wait_a_moment(&seed);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
	}
	posix_spawn_file_actions_destroy(&quiet);
	expect_nothing_left(t, &before);
}

/* ---- long sessions ---- */

/* Two programs in the background, one of them with an orphan, and a run beside them. */
static void one_long_life(const struct sbx_spec *spec)
{
	static const char *const scripts[] = {"(setsid sleep 1002 &); sleep 1003", "exec sleep 1004"};
	struct sbx_process *processes[2] = {NULL, NULL};
	struct sbx_session *session = NULL;

	if (sbx_session_open(spec, &session, NULL) < 0)
		return;
	for (int i = 0; i < 2; i++) {
		const char *argv[] = {"/bin/sh", "-c", scripts[i], NULL};
		struct sbx_command command = {.argv = argv};

		sbx_session_start(session, &command, &processes[i], NULL);
	}
	for (int i = 0; i < 2; i++) {
		const char *argv[] = {"/bin/sh", "-c", "sleep 1005 & sleep 0.01", NULL};
		struct sbx_command command = {.argv = argv, .io = {.timeout_ms = 20000}};
		struct sbx_result *result = NULL;

		sbx_session_exec(session, &command, &result, NULL);
		sbx_result_free(result);
		sbx_process_free(processes[i]);
	}
	sbx_session_close(session);
}

static void sessions_with_background_processes_leave_nothing(void **state)
{
	struct test_sandbox *t = *state;
	unsigned long lives = test_size(40, 400, 400);
	struct census before;

	count_before(t, &before);
	for (unsigned long i = 0; i < lives; i++)
		one_long_life(t->spec);
	expect_nothing_left(t, &before);
}

/* The owner forks here: it is this program, with nothing of the test but the spec. */
static void a_killed_owner_of_background_processes_leaves_nothing(void **state)
{
	struct test_sandbox *t = *state;
	unsigned long lives = test_size(40, 400, 400);
	unsigned int seed = SEED;
	struct census before;

	count_before(t, &before);
	for (unsigned long i = 0; i < lives; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			one_long_life(t->spec);
			_exit(0);
		}
		wait_a_moment(&seed);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	expect_nothing_left(t, &before);
}

/* Two kernels, one with a process of its own and a thread, and one that is in a cell at the end. */
static void one_life_with_kernels(const struct sbx_spec *spec)
{
	static const char *const cells[][2] = {
		{"one", "import subprocess, threading\n"
			"p = subprocess.Popen(['sleep', '1006'], start_new_session=True)\n"
			"threading.Thread(target=p.wait).start()"},
		{"two", "x = 1"},
		{"one", "import os; os.fork() or os._exit(0)"},
		{"two", "while True: pass"},
	};
	struct sbx_session *session = NULL;

	if (sbx_session_open(spec, &session, NULL) < 0)
		return;
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		struct sbx_run run = {
			.language = "python",
			.kernel = cells[i][0],
			.code = cells[i][1],
			.code_len = strlen(cells[i][1]),
			.io = {.timeout_ms = 300},
		};
		struct sbx_result *result = NULL;

		sbx_session_run(session, &run, &result, NULL);
		sbx_result_free(result);
	}
	sbx_session_close(session);
}

static void sessions_with_kernels_leave_nothing(void **state)
{
	struct test_sandbox *t = *state;
	unsigned long lives = test_size(10, 50, 50);
	struct census before;
	struct sbx_error err;

	assert_int_equal(sbx_spec_add_env(t->spec, "LLM_SANDBOX_KERNEL=plain", &err), 0);
	one_life_with_kernels(t->spec);
	count_before(t, &before);
	for (unsigned long i = 0; i < lives; i++)
		one_life_with_kernels(t->spec);
	expect_nothing_left(t, &before);
}

static void a_killed_owner_of_kernels_leaves_nothing(void **state)
{
	struct test_sandbox *t = *state;
	unsigned long lives = test_size(20, 100, 100);
	unsigned int seed = SEED;
	struct census before;
	struct sbx_error err;

	assert_int_equal(sbx_spec_add_env(t->spec, "LLM_SANDBOX_KERNEL=plain", &err), 0);
	one_life_with_kernels(t->spec);
	count_before(t, &before);
	for (unsigned long i = 0; i < lives; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			one_life_with_kernels(t->spec);
			_exit(0);
		}
		for (unsigned long j = 0; j <= i % 8; j++)
			wait_a_moment(&seed);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	expect_nothing_left(t, &before);
}

#define AT_ONCE 100

static void a_hundred_sessions_at_once_leave_nothing(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_session *sessions[AT_ONCE];
	const char *argv[] = {"/bin/sh", "-c", "echo $0 > mine; cat mine", "text", NULL};
	struct sbx_command command = {.argv = argv};
	struct sbx_error err;
	struct census before;

	count_before(t, &before);
	for (size_t i = 0; i < AT_ONCE; i++) {
		if (sbx_session_open(t->spec, &sessions[i], &err) < 0)
			fail_msg("session %zu: %s", i, err.msg);
	}
	for (size_t i = 0; i < AT_ONCE; i++) {
		struct sbx_result *result = NULL;

		if (sbx_session_exec(sessions[i], &command, &result, &err) < 0)
			fail_msg("session %zu: %s", i, err.msg);
		assert_string_equal(result->out.data, "text\n");
		sbx_result_free(result);
	}
	for (size_t i = 0; i < AT_ONCE; i++)
		sbx_session_close(sessions[i]);
	expect_nothing_left(t, &before);
}

/* ---- the MCP server ---- */

struct server {
	pid_t pid;
	int to, from;
};

static struct server start_server(const char *program)
{
	char *argv[] = {(char *)program, NULL};
	posix_spawn_file_actions_t actions;
	struct server s;
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	assert_int_equal(posix_spawn(&s.pid, program, &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	s.to = in[1];
	s.from = out[0];
	return s;
}

/* Two endless runs at once, and one that ends. */
static void ask_for_runs(const struct server *s)
{
	static const char *const codes[] = {"while True: pass", "import time; time.sleep(1000)",
					    "print(1)"};

	dprintf(s->to,
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
		"{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":"
		"{\"name\":\"leak\",\"version\":\"1\"}}}\n");
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		dprintf(s->to,
			"{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":"
			"{\"name\":\"execute_code\",\"arguments\":{\"code\":\"%s\",\"timeout\":60}}}\n",
			i + 1, codes[i]);
}

static void end_server(struct server *s, unsigned long how)
{
	int status;

	if (how % 4 == 1)
		kill(s->pid, SIGKILL);
	else if (how % 4 == 2)
		kill(s->pid, SIGTERM);
	else if (how % 4 == 3)
		dprintf(s->to, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
			       "\"params\":{\"requestId\":1}}\n");
	close(s->to);
	close(s->from);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
}

/* Its client goes away, it is killed, or asked to end, or a call is cancelled before. */
static void a_server_that_ends_leaves_nothing(void **state)
{
	struct test_sandbox *t = *state;
	const char *program = getenv("SBX_MCP_PROGRAM");
	unsigned long lives = test_size(60, 600, 600);
	unsigned int seed = SEED;
	struct census before;

	if (program == NULL) {
		test_skip_promised("SBX_MCP_PROGRAM does not name llm-sandbox-mcp");
		return;
	}
	signal(SIGPIPE, SIG_IGN);
	count_before(t, &before);
	for (unsigned long i = 0; i < lives; i++) {
		struct server s = start_server(program);

		ask_for_runs(&s);
		wait_a_moment(&seed);
		end_server(&s, i);
	}
	expect_nothing_left(t, &before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sandbox_test(runs_leave_nothing),
		sandbox_test(a_killed_program_leaves_nothing),
		sandbox_test(a_killed_agent_leaves_nothing),
		sandbox_test(a_killed_owner_leaves_nothing),
		sandbox_test(sessions_with_background_processes_leave_nothing),
		sandbox_test(a_killed_owner_of_background_processes_leaves_nothing),
		sandbox_test(sessions_with_kernels_leave_nothing),
		sandbox_test(a_killed_owner_of_kernels_leaves_nothing),
		sandbox_test(a_hundred_sessions_at_once_leave_nothing),
		sandbox_test(a_server_that_ends_leaves_nothing),
	};

	census_begin();
	return cmocka_run_group_tests_name("leak", tests, NULL, NULL);
}
