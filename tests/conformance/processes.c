/* SPDX-License-Identifier: MIT */
/* Programs in the background of a session: their output and end, and what they survive. */
#include "support/census.h"
#include "support/sandbox.h"

#include "base/clock.h"

#include <llmsandbox/network.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 20000

static struct sbx_process *begin(struct test_sandbox *t, const char *script,
				 const struct sbx_io *io)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	struct sbx_command command = {.argv = argv, .io = io ? *io : (struct sbx_io){0}};
	struct sbx_process *process = NULL;
	struct sbx_error err;

	if (sbx_session_start(test_session(t), &command, &process, &err) < 0)
		fail_msg("%s", err.msg);
	return process;
}

/* Wait for its end and forget it; the result is freed by the caller. */
static struct sbx_result *end(struct sbx_process *process)
{
	struct sbx_result *r = NULL;
	struct sbx_error err;

	if (sbx_process_wait(process, WAIT_MS, NULL, &r, &err) < 0)
		fail_msg("%s", err.msg);
	sbx_process_free(process);
	return r;
}

/* Until its stdout has the text; false when that takes too long. */
static bool says(struct sbx_process *process, const char *text)
{
	uint64_t deadline_ns = sbx_deadline_ns(WAIT_MS);
	bool found = false;

	while (!found && sbx_now_ns() < deadline_ns) {
		struct sbx_output out = {0}, errout = {0};
		struct sbx_result *r = NULL;
		struct sbx_error err;

		assert_int_equal(sbx_process_output(process, &out, &errout, &err), 0);
		found = strstr(out.data, text) != NULL;
		free(out.data);
		free(errout.data);
		if (!found && sbx_process_wait(process, 10, NULL, &r, &err) == 0)
			deadline_ns = 1;
		sbx_result_free(r);
	}
	return found;
}

static bool still_runs(struct sbx_process *process)
{
	struct sbx_result *r = NULL;
	struct sbx_error err;
	bool runs = sbx_process_wait(process, 0, NULL, &r, &err) < 0;

	if (runs)
		assert_int_equal(err.code, SBX_E_TIMEOUT);
	sbx_result_free(r);
	return runs;
}

static void a_background_process_has_its_own_output_and_end(void **state)
{
	struct sbx_result *r = end(begin(*state, "echo out; echo err >&2; exit 3", NULL));

	assert_int_equal(r->exit_code, 3);
	assert_int_equal(r->reason, SBX_EXITED);
	assert_string_equal(r->out.data, "out\n");
	assert_string_equal(r->errout.data, "err\n");
	sbx_result_free(r);
}

static void it_goes_on_beside_runs_and_after_them(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_process *p = begin(t, "echo up; read line; echo got $line; sleep 1000", NULL);

	assert_true(says(p, "up"));
	assert_string_equal(test_shell(t, "echo one")->out.data, "one\n");
	assert_string_equal(test_run(t, "python", "print(2)")->out.data, "2\n");
	assert_true(still_runs(p));
	sbx_process_free(p);
	assert_string_equal(test_shell(t, "echo three")->out.data, "three\n");
}

static void runs_and_it_share_files(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_process *p = begin(t, "until test -e go; do sleep 0.02; done; echo seen > answer", NULL);
	struct sbx_result *r;

	test_shell(t, "touch go");
	r = end(p);
	assert_int_equal(r->exit_code, 0);
	sbx_result_free(r);
	assert_string_equal(test_shell(t, "cat answer")->out.data, "seen\n");
}

/* What a run leaves is killed as ever; what the background process has started is not. */
static void the_end_of_a_run_leaves_it_and_its_children_alone(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_process *p =
		begin(t, "(setsid sh -c 'while :; do echo tick >> ticks; sleep 0.02; done' &); echo up; "
			 "sleep 1000", NULL);
	const struct sbx_result *r;

	assert_true(says(p, "up"));
	r = test_shell(t, "(setsid sleep 1001 &); sleep 1002 & exit 0");
	assert_int_equal(r->processes_killed, 2);
	r = test_shell(t, "rm -f ticks; for i in $(seq 200); do test -e ticks && break; sleep 0.02; done; cat ticks");
	assert_non_null(strstr(r->out.data, "tick"));
	assert_true(still_runs(p));
	sbx_process_free(p);
}

/* Processes of a container are no descendants of the test: they are looked for inside. */
static bool runs_inside(struct test_sandbox *t, const char *seconds)
{
	static const char script[] =
		"cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -q \"slee[p] $1\"";
	char text[32];

	snprintf(text, sizeof(text), "sleep %s", seconds);
	return test_has_image()
		       ? test_exec(t, "/bin/sh", "-c", script, "sh", seconds, NULL)->exit_code == 0
		       : census_runs(text);
}

static void its_end_ends_what_it_left_and_leaves_runs_alone(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_process *p =
		begin(t, "(setsid sh -c 'trap \"\" TERM HUP; sleep 1003' &); "
			 "(sleep 1004 &); "
			 "until test -e go; do sleep 0.02; done", NULL);
	struct sbx_process *other = begin(t, "sleep 1005", NULL);
	const struct sbx_result *r;
	struct sbx_result *ended;

	/* The run has an orphan of its own while the other program ends. */
	r = test_shell(t, "(setsid sh -c 'sleep 0.4; echo orphan > orphan' &); touch go; sleep 1; cat orphan");
	assert_string_equal(r->out.data, "orphan\n");
	ended = end(p);
	assert_int_equal(ended->exit_code, 0);
	assert_true(ended->processes_killed >= 2);
	sbx_result_free(ended);
	assert_true(still_runs(other));
	assert_false(runs_inside(t, "1003"));
	assert_false(runs_inside(t, "1004"));
	assert_true(runs_inside(t, "1005"));
	sbx_process_free(other);
}

static void its_time_limit_kills_it_with_its_tree(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_io io = {.timeout_ms = 300};
	struct sbx_result *r =
		end(begin(t, "(setsid sleep 1006 &); echo up; sleep 1007", &io));

	assert_int_equal(r->reason, SBX_TIMEOUT);
	assert_string_equal(r->out.data, "up\n");
	sbx_result_free(r);
	assert_false(census_runs("sleep 1006"));
}

static void a_signal_reaches_it(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_process *p = begin(
		t, "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.02; done", NULL);
	struct sbx_result *r;
	struct sbx_error err;

	assert_true(says(p, "up"));
	assert_int_equal(sbx_process_signal(p, SIGTERM, &err), 0);
	r = end(p);
	assert_int_equal(r->exit_code, 7);
	assert_string_equal(r->out.data, "up\nbye\n");
	sbx_result_free(r);
}

static void killing_it_ends_all_that_it_started(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_process *p = begin(t, "(setsid sleep 1008 &); echo up; sleep 1009", NULL);
	struct sbx_result *r;
	struct sbx_error err;

	assert_true(says(p, "up"));
	assert_int_equal(sbx_process_signal(p, SIGKILL, &err), 0);
	r = end(p);
	assert_int_equal(r->reason, SBX_CANCELLED);
	assert_int_equal(r->exit_code, 128 + SIGKILL);
	sbx_result_free(r);
	assert_false(census_runs("sleep 1008"));
}

static void stdin_reaches_it(void **state)
{
	size_t len = 700000;
	char *data = malloc(len);
	struct sbx_io io = {.stdin_data = data, .stdin_len = len};
	struct sbx_process *p;
	struct sbx_result *r;

	memset(data, 'x', len);
	p = begin(*state, "wc -c", &io);
	free(data);
	r = end(p);
	assert_int_equal(atoi(r->out.data), 700000);
	sbx_result_free(r);
}

static void a_missing_program_is_an_error_at_once(void **state)
{
	struct test_sandbox *t = *state;
	const char *const argv[] = {"no-such-program", NULL};
	struct sbx_command command = {.argv = argv};
	struct sbx_process *p = NULL;
	struct sbx_error err;

	assert_true(sbx_session_start(test_session(t), &command, &p, &err) < 0);
	assert_int_equal(err.code, SBX_E_NOT_FOUND);
	assert_non_null(strstr(err.msg, "no-such-program"));
	assert_string_equal(test_shell(t, "echo next")->out.data, "next\n");
}

static void there_is_a_most_of_them_and_room_again_when_one_has_ended(void **state)
{
	struct test_sandbox *t = *state;
	const char *const argv[] = {"sleep", "1010", NULL};
	struct sbx_command command = {.argv = argv};
	struct sbx_process *all[16], *extra = NULL;
	struct sbx_result *r = NULL;
	struct sbx_error err;

	for (size_t i = 0; i < 16; i++)
		all[i] = begin(t, "sleep 1010", NULL);
	assert_true(sbx_session_start(test_session(t), &command, &extra, &err) < 0);
	assert_int_equal(err.code, SBX_E_LIMIT);
	assert_int_equal(sbx_process_signal(all[3], SIGKILL, &err), 0);
	assert_int_equal(sbx_process_wait(all[3], WAIT_MS, NULL, &r, &err), 0);
	sbx_result_free(r);
	assert_int_equal(sbx_session_start(test_session(t), &command, &extra, &err), 0);
	sbx_process_free(extra);
	for (size_t i = 0; i < 16; i++)
		sbx_process_free(all[i]);
}

static void a_fork_bomb_in_the_background_can_be_killed(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_process *p, *other;
	struct sbx_error err;
	struct sbx_result *r = NULL;

	test_need_isolation("a fork bomb would be this machine's own");
	other = begin(t, "echo here; sleep 1011", NULL);
	p = begin(t, "(bomb() { bomb | bomb & }; bomb) 2>/dev/null & echo up; exec sleep 1012", NULL);
	assert_true(says(p, "up"));
	assert_int_equal(sbx_process_signal(p, SIGKILL, &err), 0);
	if (sbx_process_wait(p, WAIT_MS, NULL, &r, &err) < 0)
		fail_msg("%s", err.msg);
	sbx_result_free(r);
	sbx_process_free(p);
	assert_true(still_runs(other));
	sbx_process_free(other);
	assert_string_equal(test_shell(t, "echo calm")->out.data, "calm\n");
}

/* A run's own bomb must not take the background with it, nor the session. */
static void a_fork_bomb_in_a_run_leaves_it_alone(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_process *p;

	test_need_isolation("a fork bomb would be this machine's own");
	p = begin(t, "sleep 1013", NULL);
	t->io = (struct sbx_io){.timeout_ms = 700};
	assert_int_equal(
		test_shell(t, "(bomb() { bomb | bomb & }; bomb) 2>/dev/null & exec sleep 1014")->reason,
		SBX_TIMEOUT);
	t->io = (struct sbx_io){0};
	assert_true(still_runs(p));
	sbx_process_free(p);
	assert_string_equal(test_shell(t, "echo calm")->out.data, "calm\n");
}

static void its_output_is_bounded_and_ends_are_kept(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_result *r;

	test_set_limit(t, SBX_LIMIT_HEAD_BYTES, 100);
	test_set_limit(t, SBX_LIMIT_TAIL_BYTES, 100);
	r = end(begin(t, "seq 300000", NULL));
	assert_int_equal(r->exit_code, 0);
	assert_true(r->out.truncated);
	assert_int_equal(r->out.len, 200);
	assert_non_null(strstr(r->out.data, "300000\n"));
	sbx_result_free(r);
}

static void output_that_is_kept_so_far_tells_what_is_missing(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_output out = {0}, errout = {0};
	struct sbx_process *p;
	struct sbx_error err;

	test_set_limit(t, SBX_LIMIT_HEAD_BYTES, 100);
	test_set_limit(t, SBX_LIMIT_TAIL_BYTES, 100);
	p = begin(t, "seq 1000; sleep 1016", NULL);
	assert_true(says(p, "\n1000\n"));
	assert_int_equal(sbx_process_output(p, &out, &errout, &err), 0);
	assert_int_equal(out.total_bytes, 3893);
	assert_true(out.truncated);
	assert_int_equal(out.head_len, 100);
	free(out.data);
	free(errout.data);
	sbx_process_free(p);
}

/* The kernel counts kills for memory of the sandbox as a whole. */
static void what_memory_did_to_a_run_is_not_told_of_it(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_process *p;
	struct sbx_result *r;
	struct sbx_error err;

	test_need_isolation("there is no memory limit");
	test_set_limit(t, SBX_LIMIT_MEMORY_BYTES, 128 * MIB);
	p = begin(t, "echo up; exec sleep 1017", NULL);
	assert_true(says(p, "up"));
	if (test_run(t, "python", "x = bytearray(400 << 20)")->reason != SBX_MEMORY) {
		sbx_process_free(p);
		test_skip_promised("no cgroup for memory");
	}
	assert_true(still_runs(p));
	assert_int_equal(sbx_process_signal(p, SIGTERM, &err), 0);
	r = end(p);
	assert_int_equal(r->reason, SBX_SIGNALLED);
	assert_int_equal(r->signal, SIGTERM);
	sbx_result_free(r);
}

static void closing_the_session_ends_it(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_process *p = begin(t, "echo up; sleep 1015", NULL);

	assert_true(says(p, "up"));
	sbx_process_free(p);
	sbx_session_close(t->session);
	t->session = NULL;
	assert_string_equal(test_shell(t, "echo fresh")->out.data, "fresh\n");
}

static void a_time_longer_than_any_clock_is_no_time_at_once(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_io io = {.timeout_ms = UINT64_MAX / 1000000 + 1};
	struct sbx_result *r = NULL;
	struct sbx_process *p;
	struct sbx_error err;

	t->io.timeout_ms = io.timeout_ms;
	assert_string_equal(test_shell(t, "sleep 0.2; echo ended")->out.data, "ended\n");
	p = begin(t, "sleep 0.2; echo ended", &io);
	assert_int_equal(sbx_process_wait(p, io.timeout_ms, NULL, &r, &err), 0);
	assert_string_equal(r->out.data, "ended\n");
	sbx_result_free(r);
	sbx_process_free(p);
}

/* The first process of the sandbox, which is our only child; or 0. */
static pid_t agent_pid(void)
{
	char path[64];
	long pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "r");
	if (f != NULL && fscanf(f, "%ld", &pid) != 1)
		pid = 0;
	if (f != NULL)
		fclose(f);
	return (pid_t)pid;
}

/* An agent that does nothing any more cannot end it; whoever only looks now and then must hear. */
static void its_time_is_kept_also_when_it_is_only_looked_at(void **state)
{
	struct sbx_io io = {.timeout_ms = 100};
	uint64_t deadline_ns = sbx_deadline_ns(WAIT_MS);
	struct sbx_result *r = NULL;
	struct sbx_process *p;
	struct sbx_error err;
	pid_t agent;

	test_need_native("the agent is no process of a namespace of its own");
	assert_string_equal(test_shell(*state, "echo up")->out.data, "up\n");
	agent = agent_pid();
	if (agent == 0) {
		print_message("# skipped: the agent is not among our children\n");
		skip();
	}
	p = begin(*state, "sleep 1000", &io);
	assert_int_equal(kill(agent, SIGSTOP), 0);
	while (sbx_process_wait(p, 0, NULL, &r, &err) < 0 && sbx_now_ns() < deadline_ns)
		poll(NULL, 0, 20);
	assert_non_null(r);
	assert_int_equal(r->reason, SBX_TIMEOUT);
	sbx_result_free(r);
	sbx_process_free(p);
}

/* ---- beside a run of another thread ---- */

struct runner {
	struct test_sandbox *t;
	const struct sbx_result *result;
};

static void *run_in_front(void *arg)
{
	struct runner *runner = arg;

	runner->result = test_shell(runner->t, "until test -e done; do sleep 0.02; done; echo front");
	return NULL;
}

/* Its frames are handled by whoever drives; here that is another thread's operation. */
static void it_ends_while_another_thread_runs_something(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_process *p = begin(t, "until test -e go; do sleep 0.02; done; echo behind; touch done", NULL);
	struct runner runner = {.t = t};
	struct sbx_result *r;
	pthread_t thread;

	test_shell(t, "touch go");
	assert_int_equal(pthread_create(&thread, NULL, run_in_front, &runner), 0);
	r = end(p);
	assert_string_equal(r->out.data, "behind\n");
	sbx_result_free(r);
	pthread_join(thread, NULL);
	assert_string_equal(runner.result->out.data, "front\n");
}

/* ---- all at once ---- */

static void *use_the_handle(void *arg)
{
	struct sbx_process *p = arg;
	uint64_t deadline_ns = sbx_deadline_ns(WAIT_MS);

	while (still_runs(p) && sbx_now_ns() < deadline_ns) {
		struct sbx_output out = {0}, errout = {0};
		struct sbx_error err;

		assert_int_equal(sbx_process_signal(p, SIGCONT, &err), 0);
		assert_int_equal(sbx_process_output(p, &out, &errout, &err), 0);
		free(out.data);
		free(errout.data);
	}
	return NULL;
}

static void *change_the_network(void *arg)
{
	struct test_sandbox *t = arg;
	struct sbx_network *network = NULL;
	struct sbx_error err;

	assert_int_equal(sbx_network_new(SBX_NETWORK_ALLOW, &network, &err), 0);
	for (int i = 0; i < 200; i++) {
		struct sbx_egress *log = NULL;
		uint64_t total;
		size_t count;

		assert_int_equal(sbx_session_set_network(t->session, i % 2 ? network : NULL, &err), 0);
		assert_int_equal(sbx_session_egress(t->session, &log, &count, &total, &err), 0);
		free(log);
		sched_yield();
	}
	sbx_network_free(network);
	return NULL;
}

static void *run_a_few(void *arg)
{
	const char *const argv[] = {"sh", "-c", "echo few", NULL};
	struct sbx_command command = {.argv = argv};
	struct test_sandbox *t = arg;

	for (int i = 0; i < 10; i++) {
		struct sbx_result *r = NULL;
		struct sbx_error err;

		assert_int_equal(sbx_session_exec(t->session, &command, &r, &err), 0);
		assert_string_equal(r->out.data, "few\n");
		sbx_result_free(r);
	}
	return NULL;
}

/* For the thread sanitizer above all. */
static void threads_may_use_a_session_its_processes_and_its_network_at_once(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_process *all[3];
	pthread_t threads[6];

	test_session(t);
	pthread_create(&threads[0], NULL, run_a_few, t);
	pthread_create(&threads[1], NULL, run_a_few, t);
	pthread_create(&threads[2], NULL, change_the_network, t);
	for (int i = 0; i < 3; i++) {
		all[i] = begin(t, "for i in $(seq 20); do echo $i; sleep 0.02; done", NULL);
		pthread_create(&threads[3 + i], NULL, use_the_handle, all[i]);
	}
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++) {
		struct sbx_result *r = end(all[i]);

		assert_int_equal(r->exit_code, 0);
		sbx_result_free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sandbox_test(a_background_process_has_its_own_output_and_end),
		sandbox_test(it_goes_on_beside_runs_and_after_them),
		sandbox_test(runs_and_it_share_files),
		sandbox_test(the_end_of_a_run_leaves_it_and_its_children_alone),
		sandbox_test(its_end_ends_what_it_left_and_leaves_runs_alone),
		sandbox_test(its_time_limit_kills_it_with_its_tree),
		sandbox_test(a_signal_reaches_it),
		sandbox_test(killing_it_ends_all_that_it_started),
		sandbox_test(stdin_reaches_it),
		sandbox_test(a_missing_program_is_an_error_at_once),
		sandbox_test(there_is_a_most_of_them_and_room_again_when_one_has_ended),
		sandbox_test(a_fork_bomb_in_the_background_can_be_killed),
		sandbox_test(a_fork_bomb_in_a_run_leaves_it_alone),
		sandbox_test(its_output_is_bounded_and_ends_are_kept),
		sandbox_test(output_that_is_kept_so_far_tells_what_is_missing),
		sandbox_test(what_memory_did_to_a_run_is_not_told_of_it),
		sandbox_test(closing_the_session_ends_it),
		sandbox_test(a_time_longer_than_any_clock_is_no_time_at_once),
		sandbox_test(its_time_is_kept_also_when_it_is_only_looked_at),
		sandbox_test(it_ends_while_another_thread_runs_something),
		sandbox_test(threads_may_use_a_session_its_processes_and_its_network_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
