/* SPDX-License-Identifier: MIT */
/* Time limits, cancelling, and what becomes of processes that are left. */
#include "support/census.h"
#include "support/sandbox.h"

#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

/* Cases 21 and 22. */
static void a_timeout_ends_an_endless_loop_and_the_session_lives_on(void **state)
{
	struct test_sandbox *t = *state;
	uint64_t start = sbx_now_ns();
	const struct sbx_result *r;

	test_session(t);
	t->io = (struct sbx_io){.timeout_ms = 1000};
	r = test_run(t, "python", "print('begun', flush=True)\nwhile True: pass\n");
	assert_int_equal(r->reason, SBX_TIMEOUT);
	assert_int_equal(r->exit_code, 128 + SIGKILL);
	assert_string_equal(r->out.data, "begun\n");
	assert_non_null(strstr(r->message, "time limit"));
	assert_true(sbx_now_ns() - start < 4 * SBX_NS_PER_S);
	assert_true(r->timings.run >= SBX_NS_PER_S);

	t->io = (struct sbx_io){0};
	r = test_run(t, "python", "print('next')\n");
	assert_string_equal(r->out.data, "next\n");
}

/* Case 22: the whole tree, also what left the process group and ignores signals. */
static void a_timeout_kills_the_whole_process_tree(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	t->io = (struct sbx_io){.timeout_ms = 500};
	r = test_shell(t, "trap '' TERM INT HUP; setsid sleep 1000 & sleep 1001 & (sleep 1002 &) ; "
			  "wait; sleep 1003");
	assert_int_equal(r->reason, SBX_TIMEOUT);
	assert_false(census_runs("sleep 100"));
}

/* Case 23. */
static void the_time_of_a_run_goes_before_that_of_the_spec(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_set_limit(t, SBX_LIMIT_WALL_MS, 300);
	t->io = (struct sbx_io){.timeout_ms = 20000};
	r = test_run(t, "python", "import time\ntime.sleep(0.8)\nprint('slept')\n");
	assert_int_equal(r->reason, SBX_EXITED);
	assert_string_equal(r->out.data, "slept\n");
}

/* Case 24. */
static void the_time_of_the_spec_is_used_when_a_run_has_none(void **state)
{
	struct test_sandbox *t = *state;

	test_set_limit(t, SBX_LIMIT_WALL_MS, 300);
	assert_int_equal(test_shell(t, "sleep 60")->reason, SBX_TIMEOUT);
}

/* The precedence is run, execution, all; 0 is unset. */
static void the_time_for_executions_goes_before_that_for_all(void **state)
{
	struct test_sandbox *t = *state;

	test_set_limit(t, SBX_LIMIT_WALL_MS, 20000);
	test_set_limit(t, SBX_LIMIT_EXECUTION_MS, 300);
	assert_int_equal(test_shell(t, "sleep 60")->reason, SBX_TIMEOUT);
	t->io = (struct sbx_io){.timeout_ms = 20000};
	assert_string_equal(test_shell(t, "sleep 0.6; echo slept")->out.data, "slept\n");
}

static void a_time_of_none_lets_a_run_take_as_long_as_it_takes(void **state)
{
	struct test_sandbox *t = *state;

	test_set_limit(t, SBX_LIMIT_WALL_MS, 200);
	t->io = (struct sbx_io){.timeout_ms = SBX_TIMEOUT_NONE};
	assert_string_equal(test_shell(t, "sleep 0.6; echo slept")->out.data, "slept\n");
}

/* ---- the life of a session ---- */

static int try_run(struct test_sandbox *t, const char *script, struct sbx_error *err)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	struct sbx_command command = {.argv = argv};
	struct sbx_result *r = NULL;
	int failed = sbx_session_exec(test_session(t), &command, &r, err);

	sbx_result_free(r);
	return failed;
}

/* Case 25: waited for inside the sandbox, whose end is what we wait for. */
static void a_session_whose_time_is_over_says_so(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_error err = {0};

	test_set_limit(t, SBX_LIMIT_SESSION_MS, 1000);
	assert_string_equal(test_shell(t, "echo within")->out.data, "within\n");
	assert_true(try_run(t, "sleep 60", &err) < 0);
	assert_int_equal(err.code, SBX_E_TIMEOUT);
	assert_true(try_run(t, "echo after", &err) < 0);
	assert_int_equal(err.code, SBX_E_TIMEOUT);
	assert_non_null(strstr(err.msg, "session-timeout"));
}

/* The run is ended at once, and not when its own time is over. */
static void a_session_ends_in_the_middle_of_a_run(void **state)
{
	struct test_sandbox *t = *state;
	uint64_t start;
	struct sbx_error err = {0};

	test_set_limit(t, SBX_LIMIT_SESSION_MS, 600);
	test_session(t);
	start = sbx_now_ns();
	assert_true(try_run(t, "sleep 60", &err) < 0);
	assert_int_equal(err.code, SBX_E_TIMEOUT);
	assert_true(sbx_now_ns() - start < 3 * SBX_NS_PER_S);
}

static void a_cpu_limit_ends_a_busy_program_but_not_an_idle_one(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_set_limit(t, SBX_LIMIT_CPU_MS, 1000);
	r = test_shell(t, "sleep 1.3; echo rested");
	assert_string_equal(r->out.data, "rested\n");
	r = test_shell(t, "while :; do :; done");
	assert_int_equal(r->reason, SBX_CPU_LIMIT);
	assert_true(r->exit_code > 128);
	assert_true(r->cpu_user_us + r->cpu_system_us >= 800000);
}

static void a_process_left_running_is_killed_and_counted(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r = test_shell(t, "sleep 1000 & setsid sleep 1001 & exit 0");

	assert_int_equal(r->exit_code, 0);
	assert_int_equal(r->reason, SBX_EXITED);
	assert_int_equal(r->processes_killed, 2);
	assert_int_equal(test_shell(t, "true")->processes_killed, 0);
}

/* A child that holds our stdout open must not keep the run from ending. */
static void a_background_process_that_holds_stdout_delays_nothing(void **state)
{
	struct test_sandbox *t = *state;
	uint64_t start;
	const struct sbx_result *r;

	test_session(t);
	start = sbx_now_ns();
	r = test_shell(t, "(sleep 1000; echo late) & echo now");
	assert_string_equal(r->out.data, "now\n");
	assert_true(sbx_now_ns() - start < 5 * SBX_NS_PER_S);
}

/* ---- cancel ---- */

struct canceller {
	struct sbx_cancel *cancel;
	void (*act)(struct sbx_cancel *cancel);
};

/* The program says that it has begun; only then another thread cancels. */
static void *cancel_thread(void *userdata)
{
	struct canceller *c = userdata;

	c->act(c->cancel);
	return NULL;
}

struct trigger {
	struct canceller canceller;
	pthread_t thread;
	bool started;
};

static void on_first_output(const void *data, size_t len, void *userdata)
{
	struct trigger *trigger = userdata;

	(void)data;
	(void)len;
	if (!trigger->started)
		trigger->started = pthread_create(&trigger->thread, NULL, cancel_thread,
						  &trigger->canceller) == 0;
}

static const struct sbx_result *run_cancelled(struct test_sandbox *t, const char *script,
					      void (*act)(struct sbx_cancel *cancel))
{
	struct trigger trigger = {.canceller = {.act = act}};
	const struct sbx_result *r;

	assert_int_equal(sbx_cancel_new(&trigger.canceller.cancel, NULL), 0);
	t->io = (struct sbx_io){.on_stdout = on_first_output,
				.userdata = &trigger,
				.cancel = trigger.canceller.cancel};
	r = test_shell(t, script);
	assert_true(trigger.started);
	pthread_join(trigger.thread, NULL);
	sbx_cancel_free(trigger.canceller.cancel);
	t->io = (struct sbx_io){0};
	return r;
}

static void another_thread_kills_a_run(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r =
		run_cancelled(t, "trap '' INT TERM; echo begun; sleep 1000 & sleep 1001",
			      sbx_cancel_kill);

	assert_int_equal(r->reason, SBX_CANCELLED);
	assert_int_equal(r->exit_code, 128 + SIGKILL);
	assert_string_equal(test_shell(t, "echo next")->out.data, "next\n");
}

static void another_thread_interrupts_a_run_as_a_terminal_does(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r = run_cancelled(
		t, "trap 'echo caught; exit 7' INT; echo begun; while :; do sleep 0.05; done",
		sbx_cancel_interrupt);

	assert_int_equal(r->reason, SBX_EXITED);
	assert_int_equal(r->exit_code, 7);
	assert_string_equal(r->out.data, "begun\ncaught\n");
}

/* ---- signals ---- */

static void a_signal_is_told_apart_from_an_exit_code(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r = test_shell(t, "kill -SEGV $$");

	assert_int_equal(r->reason, SBX_SIGNALLED);
	assert_int_equal(r->signal, SIGSEGV);
	assert_int_equal(r->exit_code, 128 + SIGSEGV);
	r = test_shell(t, "exit 139");
	assert_int_equal(r->reason, SBX_EXITED);
	assert_int_equal(r->signal, 0);
	assert_int_equal(r->exit_code, 139);
}

static void the_cost_of_a_run_is_told(void **state)
{
	const struct sbx_result *r = test_run(*state, "python",
					      "x = bytearray(64 << 20)\n"
					      "for i in range(0, len(x), 4096): x[i] = 1\n"
					      "n = sum(i for i in range(300000))\n");

	assert_int_equal(r->exit_code, 0);
	assert_true(r->timings.create > 0 && r->timings.run > 0);
	assert_true(r->timings.install > 0);
	assert_true(r->cpu_user_us > 1000);
	assert_in_range(r->peak_memory_bytes, 64 * MIB, 256 * MIB);
}

/* Whatever its first step is: of some languages that is preparing a cache. */
static void a_run_that_was_cancelled_before_it_began_runs_no_program(void **state)
{
	static const struct {
		const char *language, *code;
	} rows[] = {
		{"python", "print('ran')"},
		{"cpp", "#include <cstdio>\nint main() { puts(\"ran\"); }"},
		{"go", "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"ran\") }"},
		{"java", "class A { public static void main(String[] a) { System.out.println(\"ran\"); } }"},
	};
	struct test_sandbox *t = *state;
	struct sbx_error err;

	assert_int_equal(sbx_cancel_new(&t->io.cancel, &err), 0);
	sbx_cancel_kill(t->io.cancel);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sbx_result *r = test_run(t, rows[i].language, rows[i].code);

		assert_int_equal(r->reason, SBX_CANCELLED);
		assert_string_equal(r->out.data, "");
	}
	sbx_cancel_free(t->io.cancel);
	t->io.cancel = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sandbox_test(a_timeout_ends_an_endless_loop_and_the_session_lives_on),
		sandbox_test(a_timeout_kills_the_whole_process_tree),
		sandbox_test(the_time_of_a_run_goes_before_that_of_the_spec),
		sandbox_test(the_time_of_the_spec_is_used_when_a_run_has_none),
		sandbox_test(the_time_for_executions_goes_before_that_for_all),
		sandbox_test(a_time_of_none_lets_a_run_take_as_long_as_it_takes),
		sandbox_test(a_session_whose_time_is_over_says_so),
		sandbox_test(a_session_ends_in_the_middle_of_a_run),
		sandbox_test(a_cpu_limit_ends_a_busy_program_but_not_an_idle_one),
		sandbox_test(a_process_left_running_is_killed_and_counted),
		sandbox_test(a_background_process_that_holds_stdout_delays_nothing),
		sandbox_test(another_thread_kills_a_run),
		sandbox_test(another_thread_interrupts_a_run_as_a_terminal_does),
		sandbox_test(a_signal_is_told_apart_from_an_exit_code),
		sandbox_test(the_cost_of_a_run_is_told),
		sandbox_test(a_run_that_was_cancelled_before_it_began_runs_no_program),
	};

	return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
