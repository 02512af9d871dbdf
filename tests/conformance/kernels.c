/* SPDX-License-Identifier: MIT */
/* Live kernels: what stays between cells, how they end, and what they survive. */
#include "fuzz/random.h"
#include "support/census.h"
#include "support/sandbox.h"

#include "base/clock.h"

#include <llmsandbox/files.h>
#include <llmsandbox/kernel.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOP_MS 1000 /* what an endless cell gets */

/* ---- cells ---- */

static int try_cell(struct test_sandbox *t, const char *language, const char *kernel,
		    const char *code, struct sbx_result **ret, struct sbx_error *err)
{
	struct sbx_run run = {
		.language = language,
		.code = code,
		.code_len = strlen(code),
		.kernel = kernel,
		.io = t->io,
	};

	return sbx_session_run(test_session(t), &run, ret, err);
}

static const struct sbx_result *cell_in(struct test_sandbox *t, const char *language,
					const char *kernel, const char *code)
{
	struct sbx_result *r = NULL;
	struct sbx_error err;

	if (try_cell(t, language, kernel, code, &r, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(t->result_count < TEST_RESULTS_MAX);
	t->results[t->result_count++] = r;
	return r;
}

/* The plain engine: what is tested here does not depend on it, and it starts in a tenth of the time. */
static const struct sbx_result *cell(struct test_sandbox *t, const char *code)
{
	struct sbx_error err;

	if (t->session == NULL)
		assert_int_equal(sbx_spec_add_env(t->spec, "LLM_SANDBOX_KERNEL=plain", &err), 0);
	return cell_in(t, "python", "main", code);
}

static void says(const struct sbx_result *r, const char *text)
{
	if (strcmp(r->out.data, text) != 0)
		fail_msg("'%s' is not '%s'; stderr: %s; %s", r->out.data, text, r->errout.data,
			 r->message);
}

/* ---- state ---- */

static void a_variable_stays_between_cells(void **state)
{
	const struct sbx_result *r;

	cell(*state, "x = 41");
	r = cell(*state, "print(x + 1)");
	says(r, "42\n");
	assert_int_equal(r->exit_code, 0);
	assert_int_equal(r->reason, SBX_EXITED);
	assert_null(r->value);
	assert_false(r->kernel_ended);
}

static void the_value_of_the_last_expression_is_shown(void **state)
{
	const struct sbx_result *r = cell(*state, "print('before')\n6 * 7");

	says(r, "before\n42\n");
	assert_string_equal(r->value, "42");
}

static void an_exception_leaves_the_state_alone(void **state)
{
	const struct sbx_result *r;

	cell(*state, "x = 41");
	says(cell(*state, "x"), "41\n");
	r = cell(*state, "1/0");
	assert_int_equal(r->exit_code, 1);
	assert_non_null(strstr(r->errout.data, "ZeroDivisionError"));
	says(cell(*state, "x"), "41\n");
}

static void a_cell_whose_time_is_over_is_interrupted_and_the_state_survives(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	cell(t, "x = 41");
	t->io.timeout_ms = LOOP_MS;
	r = cell(t, "print('begun', flush=True)\nwhile True: pass");
	says(r, "begun\n");
	assert_int_equal(r->reason, SBX_TIMEOUT);
	assert_int_equal(r->exit_code, 130);
	assert_false(r->kernel_ended);
	assert_non_null(strstr(r->message, "state is kept"));
	says(cell(t, "x"), "41\n");
}

/* ---- how cells end ---- */

static void exit_ends_the_cell_with_its_code_and_keeps_the_state(void **state)
{
	const struct sbx_result *r;

	cell(*state, "x = 41");
	r = cell(*state, "print('before'); exit(3); print('behind')");
	says(r, "before\n");
	assert_int_equal(r->exit_code, 3);
	assert_int_equal(r->reason, SBX_EXITED);
	assert_false(r->kernel_ended);
	assert_int_equal(cell(*state, "import sys; sys.exit()")->exit_code, 0);
	r = cell(*state, "sys.exit('no more')");
	assert_int_equal(r->exit_code, 1);
	assert_string_equal(r->errout.data, "no more\n");
	says(cell(*state, "x"), "41\n");
}

/* Whatever ends the process: the result says how, and the next cell finds a new one. */
static void expect_new_kernel(struct test_sandbox *t, const struct sbx_result *r)
{
	assert_true(r->kernel_ended);
	assert_non_null(strstr(r->message, "state is gone"));
	says(cell(t, "try: x\nexcept NameError: print('new')"), "new\n");
}

static void a_process_that_ends_is_told_and_the_next_cell_starts_another(void **state)
{
	const struct sbx_result *r;

	cell(*state, "x = 41");
	r = cell(*state, "import os; print('last', flush=True); os._exit(5)");
	says(r, "last\n");
	assert_int_equal(r->exit_code, 5);
	assert_int_equal(r->reason, SBX_EXITED);
	assert_non_null(strstr(r->message, "exited with code 5"));
	expect_new_kernel(*state, r);
}

static void a_crash_is_told_and_the_next_cell_starts_another(void **state)
{
	const struct sbx_result *r;

	cell(*state, "x = 41");
	r = cell(*state, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)");
	assert_int_equal(r->reason, SBX_SIGNALLED);
	assert_int_equal(r->signal, SIGSEGV);
	assert_int_equal(r->exit_code, 128 + SIGSEGV);
	expect_new_kernel(*state, r);
}

static void a_loop_that_ignores_the_interrupt_costs_the_state_and_is_said(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	cell(t, "x = 41");
	t->io.timeout_ms = LOOP_MS;
	r = cell(t, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass");
	assert_int_equal(r->reason, SBX_TIMEOUT);
	if (strstr(r->message, "did not heed") == NULL)
		fail_msg("%s; stderr: %s", r->message, r->errout.data);
	t->io.timeout_ms = 0;
	expect_new_kernel(t, r);
}

static void the_memory_limit_costs_the_state_and_is_said(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_need_isolation("this backend limits no memory");
	test_set_limit(t, SBX_LIMIT_MEMORY_BYTES, 128 * MIB);
	cell(t, "x = 41");
	r = cell(t, "y = []\nwhile True: y.append(bytearray(8 << 20))");
	if (r->reason == SBX_EXITED) {
		/* Where a limit of each process is all there is, it is an exception like others. */
		assert_non_null(strstr(r->errout.data, "MemoryError"));
		return;
	}
	assert_int_equal(r->reason, SBX_MEMORY);
	expect_new_kernel(t, r);
}

/* Until the only kernel's process is over, and somebody has noticed. */
static void await_end(struct test_sandbox *t)
{
	uint64_t deadline_ns = sbx_deadline_ns(20000);
	bool alive = true;

	while (alive) {
		struct sbx_kernel_info *list = NULL;
		struct sbx_error err;
		size_t count = 0;

		assert_true(sbx_now_ns() < deadline_ns);
		assert_int_equal(sbx_kernel_list(t->session, &list, &count, &err), 0);
		assert_int_equal(count, 1);
		alive = list[0].alive;
		free(list);
	}
}

static void end_between_cells(struct test_sandbox *t)
{
	cell(t, "import os, threading\n"
		"x = 41\n"
		"def end():\n"
		"    while not os.path.exists('go'): pass\n"
		"    os._exit(4)\n"
		"threading.Thread(target=end).start()");
	test_shell(t, "touch go");
	await_end(t);
}

static void a_kernel_that_ended_between_cells_is_told_by_the_next(void **state)
{
	const struct sbx_result *r;

	end_between_cells(*state);
	r = cell(*state, "'x' in globals()");
	says(r, "False\n");
	assert_int_equal(r->exit_code, 0);
	assert_non_null(strstr(r->message, "exited with code 4 before this cell"));
}

/* ---- what cells do to their process ---- */

static void a_result_that_has_more_to_tell_leaves_it_to_the_next(void **state)
{
	struct test_sandbox *t = *state;

	end_between_cells(t);
	t->io.timeout_ms = 200;
	assert_int_equal(cell(t, "while True: pass")->reason, SBX_TIMEOUT);
	t->io.timeout_ms = 0;
	assert_non_null(strstr(cell(t, "1")->message, "started anew"));
	assert_string_equal(cell(t, "1")->message, "");
}

static void a_gigabyte_of_output_is_bounded_and_ends_are_kept(void **state)
{
	struct test_sandbox *t = *state;
	unsigned long mib = test_size(64, 256, 1024);
	const struct sbx_result *r;
	char code[256];

	snprintf(code, sizeof(code),
		 "import os\nprint('first', flush=True)\n"
		 "for i in range(%lu): os.write(1, b'x' * (1 << 20))\n"
		 "print('last')",
		 mib);
	r = cell(t, code);
	assert_int_equal(r->exit_code, 0);
	assert_int_equal(r->out.total_bytes, mib * MIB + strlen("first\nlast\n"));
	assert_true(r->out.truncated);
	assert_memory_equal(r->out.data, "first\n", 6);
	assert_string_equal(r->out.data + r->out.len - 6, "xlast\n");
	says(cell(t, "'after'"), "'after'\n");
}

static void forks_of_a_cell_end_without_ending_it(void **state)
{
	const struct sbx_result *r;

	r = cell(*state, "import os\n"
			 "pid = os.fork()\n"
			 "if pid == 0:\n"
			 "    print('child', flush=True)\n"
			 "else:\n"
			 "    os.waitpid(pid, 0)\n"
			 "    print('parent', flush=True)");
	says(r, "child\nparent\n");
	says(cell(*state, "pid > 0"), "True\n");
}

static void a_process_that_a_cell_left_goes_on_until_the_kernel_ends(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_error err;

	cell(t, "import os, subprocess\n"
		"p = subprocess.Popen(['flock', 'lock', 'sh', '-c', 'touch held; exec sleep 1021'])\n"
		"while not os.path.exists('held'): pass");
	says(cell(t, "p.poll() is None"), "True\n");
	assert_int_not_equal(test_shell(t, "flock -n lock true")->exit_code, 0);
	assert_int_equal(sbx_kernel_end(test_session(t), "main", &err), 0);
	assert_int_equal(test_shell(t, "flock -n lock true")->exit_code, 0);
}

static void a_thread_left_running_goes_on_between_cells(void **state)
{
	const struct sbx_result *r;

	cell(*state, "import os, threading\n"
		     "def work():\n"
		     "    while not os.path.exists('go'): pass\n"
		     "    print('from the thread', flush=True)\n"
		     "    open('done', 'w').close()\n"
		     "threading.Thread(target=work).start()");
	test_shell(*state, "touch go; until test -e done; do sleep 0.02; done");
	r = cell(*state, "print('from the cell')");
	says(r, "from the thread\nfrom the cell\n");
}

static void input_is_at_its_end(void **state)
{
	const struct sbx_result *r = cell(*state, "input()");

	assert_int_equal(r->exit_code, 1);
	assert_non_null(strstr(r->errout.data, "EOFError"));
}

/* After each of these the next cell prints as ever, in the same process or, if said, another. */
static void what_a_cell_does_to_its_descriptors_harms_no_later_one(void **state)
{
	static const char *const attacks[] = {
		"import sys; sys.stdout.close()",
		"import sys; sys.stdout = None; sys.stderr = None",
		"import sys, io; sys.stdout = sys.stderr = io.StringIO(); print('lost')",
		"import sys; sys.__stdout__.close()",
		"import os\ntry: os.close(3)\nexcept OSError: pass",
		"import os; os.closerange(3, 4096)",
		"import os; os.closerange(0, 4096)",
		"import os; os.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
		"import os; os.close(1); os.close(2)",
	};

	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		const struct sbx_result *r = cell(*state, attacks[i]);

		assert_true(!r->kernel_ended || r->message[0] != '\0');
		r = cell(*state, "print('well')");
		if (strcmp(r->out.data, "well\n") != 0)
			fail_msg("after '%s': '%s', '%s', %s", attacks[i], r->out.data,
				 r->errout.data, r->message);
	}
}

#define SPEAK                                                                      \
	"import os, struct\n"                                                      \
	"fd = [int(f) for f in os.listdir('/proc/self/fd')\n"                      \
	"      if os.path.exists('/proc/self/fd/' + f) or True\n"                  \
	"      if os.path.islink('/proc/self/fd/' + f)\n"                          \
	"      if os.readlink('/proc/self/fd/' + f).startswith('socket:')][-1]\n" \
	"def say(text): os.write(fd, struct.pack('<I', len(text)) + text)\n"

/* A cell that speaks to the host in its kernel's stead. */
static void words_that_no_kernel_says_end_it_and_nothing_else(void **state)
{
	static const char *const attacks[] = {
		"say(b'no JSON')",
		"say(b'')",
		"say(b'[]')",
		"say(b'[' * 100000)",
		"say(b'{}')",
		"say(b'{\"op\": 7}')",
		"say(b'{\"op\": \"fly\"}')",
		"say(b'{\"op\": \"ready\", \"language\": \"python\", \"version\": \"1\"}')",
		"say(b'{\"op\": \"done\"}')",
		"say(b'{\"op\": \"done\", \"id\": 999, \"status\": \"ok\", \"exit_code\": 0}')",
		"say(b'{\"op\": \"done\", \"id\": \"1\", \"status\": \"ok\", \"exit_code\": 0}')",
		"say(b'{\"op\": \"done\", \"id\": 1, \"status\": \"fine\", \"exit_code\": 0}')",
		"say(b'{\"op\": \"done\", \"id\": 1, \"status\": \"ok\", \"exit_code\": -1}')",
		"say(b'{\"op\": \"done\", \"id\": 1, \"status\": \"ok\", \"exit_code\": 1e9}')",
		"say(b'{\"op\": \"result\", \"id\": 5000000000, \"text\": \"x\"}')",
		"say(b'{\"op\": \"result\", \"id\": 1, \"text\": \"\\xff\"}')",
		"say(b'{\"op\": \"display\", \"id\": 1, \"number\": \"../x\"}')",
		"say(b'{\"op\": \"error\", \"id\": 1}')",
		/* Of each of these the host would make an object of its own, a hundred times as large. */
		"say(b'{\"op\": \"display\", \"id\": 1, \"number\": 1, \"x\": [' + b'[],' * 1000000 + b'0]}')",
		"say(b'{\"op\": \"display\", \"id\": 1, \"number\": 1' + b', \"x\": 0' * 1000 + b'}')",
		"os.write(fd, b'\\xff\\xff\\xff\\xff')",
		"os.write(fd, struct.pack('<I', 4 << 20) + b'x' * 100); os._exit(0)",
	};
	char code[2048];

	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		const struct sbx_result *r;

		snprintf(code, sizeof(code), SPEAK "%s\nimport time; time.sleep(1000)", attacks[i]);
		r = cell(*state, code);
		if (!r->kernel_ended || r->message[0] == '\0')
			fail_msg("'%s' came to '%s' '%s'", attacks[i], r->message, r->errout.data);
		says(cell(*state, "'well'"), "'well'\n");
	}
}

/* The end of its own cell, twice: the second one is of nothing that was asked for. */
static void a_cell_that_ends_itself_harms_nobody_but_its_kernel(void **state)
{
	cell(*state, SPEAK "say(b'{\"op\": \"done\", \"id\": 1, \"status\": \"ok\", \"exit_code\": 0}')");
	cell(*state, "'it may be ended in this one'");
	says(cell(*state, "'well'"), "'well'\n");
}

/* ---- others at the same time ---- */

static void two_kernels_of_a_session_know_nothing_of_each_other(void **state)
{
	cell_in(*state, "python", "one", "x = 1");
	cell_in(*state, "python", "two", "x = 2");
	says(cell_in(*state, "python", "one", "x"), "1\n");
	says(cell_in(*state, "python", "two", "x"), "2\n");
}

static void runs_between_cells_leave_the_kernel_alone(void **state)
{
	cell(*state, "x = 41; open('left', 'w').write('here')");
	says(test_run(*state, "python", "print(open('left').read())"), "here\n");
	test_shell(*state, "sleep 1022 & exit 0");
	says(cell(*state, "x"), "41\n");
}

struct busy {
	struct test_sandbox *t;
	const char *code;
	struct sbx_result *result;
	struct sbx_error err;
	struct sbx_cancel *cancel;
	atomic_bool begun; /* it has printed something */
};

static void note_output(const void *data, size_t len, void *userdata)
{
	struct busy *b = userdata;

	(void)data, (void)len;
	atomic_store(&b->begun, true);
}

static void *run_busy(void *arg)
{
	struct busy *b = arg;
	struct sbx_run run = {
		.language = "python",
		.code = b->code,
		.code_len = strlen(b->code),
		.kernel = "main",
		.io = {.cancel = b->cancel, .on_stdout = note_output, .userdata = b},
	};

	if (sbx_session_run(b->t->session, &run, &b->result, &b->err) < 0)
		b->result = NULL;
	return NULL;
}

/* Until the kernel has a cell. */
static void await_busy(struct test_sandbox *t)
{
	uint64_t deadline_ns = sbx_deadline_ns(20000);
	bool busy = false;

	while (!busy) {
		struct sbx_kernel_info *list = NULL;
		size_t count = 0;
		struct sbx_error err;

		assert_true(sbx_now_ns() < deadline_ns);
		assert_int_equal(sbx_kernel_list(t->session, &list, &count, &err), 0);
		for (size_t i = 0; i < count; i++)
			busy |= list[i].busy;
		free(list);
	}
}

/* Until its code runs: who ends it sooner ends no kernel. */
static void await_output(struct busy *b)
{
	uint64_t deadline_ns = sbx_deadline_ns(20000);

	while (!atomic_load(&b->begun))
		assert_true(sbx_now_ns() < deadline_ns);
}

#define SPIN "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"

static void another_thread_can_interrupt_a_cell_and_its_state_survives(void **state)
{
	struct test_sandbox *t = *state;
	struct busy b = {.t = t, .code = SPIN};
	struct sbx_error err;
	pthread_t thread;

	cell(t, "x = 41");
	assert_int_equal(pthread_create(&thread, NULL, run_busy, &b), 0);
	await_busy(t);
	assert_int_equal(sbx_kernel_interrupt(t->session, "main", &err), 0);
	pthread_join(thread, NULL);
	assert_non_null(b.result);
	assert_int_equal(b.result->exit_code, 130);
	assert_int_equal(b.result->reason, SBX_EXITED);
	assert_false(b.result->kernel_ended);
	sbx_result_free(b.result);
	says(cell(t, "x"), "41\n");
}

static void a_restart_ends_the_cell_that_runs_and_begins_anew(void **state)
{
	struct test_sandbox *t = *state;
	struct busy b = {.t = t, .code = SPIN};
	struct sbx_error err;

	for (int i = 0; i < 5; i++) {
		pthread_t thread;

		cell(t, "x = 41");
		assert_int_equal(pthread_create(&thread, NULL, run_busy, &b), 0);
		await_busy(t);
		if (sbx_kernel_restart(t->session, "main", &err) < 0)
			fail_msg("%s", err.msg);
		pthread_join(thread, NULL);
		assert_non_null(b.result);
		assert_int_equal(b.result->reason, SBX_CANCELLED);
		assert_true(b.result->kernel_ended);
		assert_non_null(strstr(b.result->message, "restarted"));
		sbx_result_free(b.result);
		says(cell(t, "'x' in globals()"), "False\n");
	}
}

static void cancelling_a_cell_interrupts_it_or_kills_its_kernel(void **state)
{
	struct test_sandbox *t = *state;
	struct busy b = {.t = t, .code = SPIN};
	struct sbx_error err;
	pthread_t thread;

	assert_int_equal(sbx_cancel_new(&b.cancel, &err), 0);
	cell(t, "x = 41");
	assert_int_equal(pthread_create(&thread, NULL, run_busy, &b), 0);
	await_busy(t);
	sbx_cancel_interrupt(b.cancel);
	pthread_join(thread, NULL);
	assert_int_equal(b.result->exit_code, 130);
	sbx_result_free(b.result);
	says(cell(t, "x"), "41\n");

	b.begun = false;
	assert_int_equal(pthread_create(&thread, NULL, run_busy, &b), 0);
	await_output(&b);
	sbx_cancel_kill(b.cancel);
	pthread_join(thread, NULL);
	assert_int_equal(b.result->reason, SBX_CANCELLED);
	expect_new_kernel(t, b.result);
	sbx_result_free(b.result);
	sbx_cancel_free(b.cancel);
}

/* It is said before the call that is to heed it, and nothing says it again. */
static void a_cell_that_was_cancelled_before_is_not_run_and_its_kernel_stays(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_result *r = NULL;
	struct sbx_error err;

	cell(t, "x = 41");
	assert_int_equal(sbx_cancel_new(&t->io.cancel, &err), 0);
	sbx_cancel_kill(t->io.cancel);
	/* An error where it waited for the session, if only for a moment. */
	if (try_cell(t, "python", "main", "x = 42\nwhile True: pass", &r, &err) == 0) {
		assert_int_equal(r->reason, SBX_CANCELLED);
		assert_false(r->kernel_ended);
		assert_non_null(strstr(r->message, "did not run"));
		sbx_result_free(r);
	} else {
		assert_int_equal(err.code, SBX_E_UNAVAILABLE);
	}
	sbx_cancel_free(t->io.cancel);
	t->io.cancel = NULL;
	says(cell(t, "x"), "41\n");
}

static void a_cell_that_was_interrupted_before_is_not_run(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;
	struct sbx_error err;

	cell(t, "x = 41");
	assert_int_equal(sbx_cancel_new(&t->io.cancel, &err), 0);
	sbx_cancel_interrupt(t->io.cancel);
	r = cell(t, "x = 42");
	assert_int_equal(r->exit_code, 130);
	assert_non_null(strstr(r->message, "did not run"));
	says(cell(t, "x"), "41\n");
	/* What was for nobody is not for the next. */
	sbx_cancel_interrupt(t->io.cancel);
	says(cell(t, "x"), "41\n");
	sbx_cancel_free(t->io.cancel);
	t->io.cancel = NULL;
}

static void a_start_that_was_cancelled_before_comes_to_its_end(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_kernel_info *list;
	struct sbx_cancel *cancel;
	struct sbx_error err;
	size_t count;

	assert_int_equal(sbx_cancel_new(&cancel, &err), 0);
	sbx_cancel_kill(cancel);
	assert_true(sbx_kernel_start(test_session(t), "main", "python", cancel, &err) < 0);
	assert_int_equal(err.code, SBX_E_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "cancelled"));
	assert_int_equal(sbx_kernel_list(test_session(t), &list, &count, &err), 0);
	assert_int_equal(count, 0);
	free(list);
	sbx_cancel_free(cancel);
	says(cell(t, "1"), "1\n");
}

/* What one of several does to the same two kernels, in an order of its own. */
struct crowd {
	struct sbx_session *session;
	uint32_t state;
};

static void act_at_random(struct crowd *c, const char *kernel)
{
	struct sbx_run run = {
		.language = "python", .kernel = kernel, .code = "x = 1", .code_len = 5, .io = {.timeout_ms = 300}};
	struct sbx_kernel_info *list = NULL;
	struct sbx_result *r = NULL;
	struct sbx_cell *cells = NULL;
	size_t count = 0;

	switch (next(&c->state) % 8) {
	case 0:
		sbx_kernel_restart(c->session, kernel, NULL);
		break;
	case 1:
		sbx_kernel_end(c->session, kernel, NULL);
		break;
	case 2:
		sbx_kernel_reset(c->session, kernel, NULL);
		break;
	case 3:
		sbx_kernel_interrupt(c->session, kernel, NULL);
		break;
	case 4:
		if (sbx_kernel_list(c->session, &list, &count, NULL) == 0)
			free(list);
		if (sbx_kernel_history(c->session, kernel, &cells, &count, NULL) == 0)
			sbx_cells_free(cells, count);
		break;
	case 5:
		run.code = "while True: pass";
		run.code_len = strlen(run.code);
		/* fall through */
	default:
		if (sbx_session_run(c->session, &run, &r, NULL) == 0)
			sbx_result_free(r);
	}
}

static void *crowd(void *arg)
{
	struct crowd *c = arg;

	for (int i = 0; i < 25; i++)
		act_at_random(c, next(&c->state) % 2 ? "one" : "two");
	return NULL;
}

static void whatever_threads_do_at_once_the_session_goes_on(void **state)
{
	struct test_sandbox *t = *state;
	struct crowd crowds[4];
	pthread_t threads[4];

	cell(t, "1");
	for (uint32_t i = 0; i < 4; i++) {
		crowds[i] = (struct crowd){t->session, 77 + i};
		assert_int_equal(pthread_create(&threads[i], NULL, crowd, &crowds[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	says(cell(t, "'well'"), "'well'\n");
	says(cell_in(t, "python", "one", "'well'"), "'well'\n");
}

/* ---- the calls beside running ---- */

static void start_list_reset_and_end_do_what_they_say(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_session *s = test_session(t);
	struct sbx_kernel_info *list;
	struct sbx_error err;
	size_t count;

	if (sbx_kernel_start(s, "main", "py", NULL, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(sbx_kernel_start(s, "main", "python", NULL, &err), 0);
	cell(t, "x = 41");
	assert_int_equal(sbx_kernel_list(s, &list, &count, &err), 0);
	assert_int_equal(count, 1);
	assert_string_equal(list[0].name, "main");
	assert_string_equal(list[0].language, "python");
	assert_true(strncmp(list[0].version, "3.", 2) == 0);
	assert_true(list[0].alive);
	assert_false(list[0].busy);
	assert_int_equal(list[0].cells, 1);
	assert_int_equal(list[0].starts, 1);
	free(list);

	assert_int_equal(sbx_kernel_reset(s, "main", &err), 0);
	says(cell(t, "'x' in globals()"), "False\n");
	assert_int_equal(sbx_kernel_interrupt(s, "main", &err), 0);
	assert_int_equal(sbx_kernel_end(s, "main", &err), 0);
	assert_int_equal(sbx_kernel_list(s, &list, &count, &err), 0);
	assert_int_equal(count, 0);
	free(list);
	assert_int_equal(sbx_kernel_end(s, "main", &err), -SBX_E_NOT_FOUND);
	assert_int_equal(sbx_kernel_restart(s, "main", &err), -SBX_E_NOT_FOUND);
	assert_int_equal(sbx_kernel_reset(s, "main", &err), -SBX_E_NOT_FOUND);
	assert_int_equal(sbx_kernel_interrupt(s, "main", &err), -SBX_E_NOT_FOUND);
	assert_non_null(strstr(err.msg, "'main'"));
}

static void the_history_has_what_was_run_and_what_it_came_to(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_cell *cells;
	struct sbx_error err;
	size_t count;

	cell(t, "x = 41");
	cell(t, "x + 1");
	cell(t, "1/0");
	assert_int_equal(sbx_kernel_restart(test_session(t), "main", &err), 0);
	cell(t, "'after'");
	assert_int_equal(sbx_kernel_history(test_session(t), "main", &cells, &count, &err), 0);
	assert_int_equal(count, 4);
	assert_string_equal(cells[1].code, "x + 1");
	assert_string_equal(cells[1].value, "42");
	assert_int_equal(cells[1].number, 2);
	assert_null(cells[2].value);
	assert_int_equal(cells[2].exit_code, 1);
	assert_int_equal(cells[3].number, 4);
	assert_true(cells[3].run_ns > 0);
	sbx_cells_free(cells, count);
}

static void the_history_is_bounded(void **state)
{
	struct test_sandbox *t = *state;
	size_t size = 3 << 20, count;
	char *code = malloc(size + 1);
	struct sbx_result *r = NULL;
	struct sbx_cell *cells;
	struct sbx_error err;

	memset(code, '#', size);
	code[size] = '\0';
	assert_int_equal(try_cell(t, "python", "main", code, &r, &err), 0);
	sbx_result_free(r);
	assert_int_equal(sbx_kernel_history(test_session(t), "main", &cells, &count, &err), 0);
	assert_int_equal(count, 1);
	assert_int_equal(strlen(cells[0].code), 64 << 10);
	sbx_cells_free(cells, count);
	free(code);
}

static void refuse(struct test_sandbox *t, const char *language, const char *kernel,
		   const char *code, enum sbx_code expected, const char *words)
{
	struct sbx_result *r = NULL;
	struct sbx_error err = {0};

	if (try_cell(t, language, kernel, code, &r, &err) == 0)
		fail_msg("'%s' was not refused", kernel);
	assert_int_equal(err.code, expected);
	if (strstr(err.msg, words) == NULL)
		fail_msg("'%s' has no '%s'", err.msg, words);
}

static void names_that_cannot_be_are_refused(void **state)
{
	static const char long_name[] =
		"a123456789012345678901234567890123456789012345678901234567890123";

	refuse(*state, "python", "", "1", SBX_E_INVALID, "name of a kernel");
	refuse(*state, "python", "a b", "1", SBX_E_INVALID, "'a b'");
	refuse(*state, "python", "a/b", "1", SBX_E_INVALID, "'a/b'");
	refuse(*state, "python", "\xc3\xa4", "1", SBX_E_INVALID, "name of a kernel");
	refuse(*state, "python", long_name, "1", SBX_E_INVALID, "1 to 63");
	cell(*state, "1");
	refuse(*state, "ruby", "main", "1", SBX_E_INVALID, "one of Python");
}

static void a_language_without_kernels_is_refused_and_those_with_are_named(void **state)
{
	refuse(*state, "cpp", "main", "int main() {}", SBX_E_NOT_FOUND,
	       "python, java, javascript, ruby, r");
	refuse(*state, "go", "main", "package main", SBX_E_NOT_FOUND, "no kernels of Go");
	assert_false(sbx_language_has_kernel("cpp"));
	assert_true(sbx_language_has_kernel("JS"));
	assert_false(sbx_language_has_kernel("cobol"));
	assert_false(sbx_language_has_kernel(NULL));
}

static void what_a_cell_cannot_have_is_refused(void **state)
{
	static const char *const env[] = {"A=1", NULL}, *const args[] = {"a", NULL};
	struct test_sandbox *t = *state;
	struct sbx_run run = {
		.language = "python", .code = "1", .code_len = 1, .kernel = "main", .args = args};
	struct sbx_result *r = NULL;
	struct sbx_error err;

	assert_int_equal(sbx_session_run(test_session(t), &run, &r, &err), -SBX_E_INVALID);
	assert_non_null(strstr(err.msg, "arguments"));
	t->io.env = env;
	refuse(t, "python", "main", "1", SBX_E_INVALID, "environment");
	t->io.env = NULL;
	t->io.stdin_data = "x";
	t->io.stdin_len = 1;
	refuse(t, "python", "main", "1", SBX_E_INVALID, "stdin");
	t->io.stdin_len = 0;
	refuse(t, "python", "main", "'\xff'", SBX_E_INVALID, "UTF-8");
	refuse(t, "python", "main", "", SBX_E_INVALID, "empty");
}

static void there_are_at_most_eight(void **state)
{
	for (int i = 0; i < SBX_KERNELS_MAX; i++) {
		char name[8];

		snprintf(name, sizeof(name), "k%d", i);
		says(cell_in(*state, "python", name, "1"), "1\n");
	}
	refuse(*state, "python", "more", "1", SBX_E_LIMIT, "end one");
	says(cell_in(*state, "python", "k0", "2"), "2\n");
}

static void an_interpreter_that_is_missing_is_named(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_kernel_info *list;
	struct sbx_error err;
	size_t count;

	assert_int_equal(sbx_spec_add_env(t->spec, "PATH=/nowhere", &err), 0);
	refuse(t, "ruby", "main", "1", SBX_E_NOT_FOUND,
	       test_has_image() ? "has no Ruby"
				: "Ruby is not installed (on Debian: apt-get install ruby)");
	assert_int_equal(sbx_kernel_list(test_session(t), &list, &count, &err), 0);
	assert_int_equal(count, 0);
	free(list);
}

/* There is nothing to end yet, and so nothing that does not end. */
static void a_kernel_that_cannot_be_started_costs_no_session(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_file_info info = {0};
	struct sbx_error err;

	for (int i = 0; i < 1024; i++) {
		char variable[16];

		snprintf(variable, sizeof(variable), "V%d=1", i);
		assert_int_equal(sbx_spec_add_env(t->spec, variable, &err), 0);
	}
	refuse(t, "python", "main", "1", SBX_E_LIMIT, "environment variables");
	if (sbx_session_stat_file(test_session(t), ".", &info, &err) < 0)
		fail_msg("%s", err.msg);
	free(info.path);
}

static void a_cell_that_does_not_come_to_run_leaves_no_kernel(void **state)
{
	const struct sbx_file file = {.name = "../out", .data = "x", .len = 1};
	struct test_sandbox *t = *state;
	struct sbx_kernel_info *list;
	struct sbx_error err;
	size_t count;

	t->io.files = &file;
	t->io.file_count = 1;
	refuse(t, "python", "main", "1", SBX_E_INVALID, "../out");
	assert_int_equal(sbx_kernel_list(test_session(t), &list, &count, &err), 0);
	assert_int_equal(count, 0);
	free(list);
}

/* ---- how a cell meets the outside ---- */

struct heard {
	char text[256];
	size_t len;
};

static void hear(const void *data, size_t len, void *userdata)
{
	struct heard *h = userdata;

	assert_true(h->len + len < sizeof(h->text));
	memcpy(h->text + h->len, data, len);
	h->len += len;
}

static void output_comes_to_callbacks_with_the_value_behind_it(void **state)
{
	struct test_sandbox *t = *state;
	struct heard heard = {0};

	t->io = (struct sbx_io){.on_stdout = hear, .userdata = &heard};
	cell(t, "print('one')\nprint('two')\n3");
	assert_string_equal(heard.text, "one\ntwo\n3\n");
	t->io = (struct sbx_io){0};
	says(cell(t, "print('unheard')"), "unheard\n");
	assert_string_equal(heard.text, "one\ntwo\n3\n");
}

static void files_are_there_before_the_cell_runs(void **state)
{
	const struct sbx_file file = {.name = "data/in.txt", .data = "within", .len = 6};
	struct test_sandbox *t = *state;

	t->io.files = &file;
	t->io.file_count = 1;
	says(cell(t, "print(open('data/in.txt').read())"), "within\n");
}

static void what_a_cell_makes_is_its_own(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	cell(t, "open('unwanted.csv', 'w').write('a,b')");
	t->io.artifacts = true;
	r = cell(t, "open('wanted.csv', 'w').write('a,b')");
	assert_int_equal(r->artifact_count, 1);
	assert_non_null(strstr(r->artifacts[0].path, "/wanted.csv"));
	assert_int_equal(r->change_count, 1);
	assert_int_equal(cell(t, "1")->artifact_count, 0);
}

static void tracebacks_name_the_cell_and_its_lines(void **state)
{
	const struct sbx_result *r;

	cell(*state, "def f():\n    raise ValueError('deep')");
	r = cell(*state, "\nf()");
	assert_non_null(strstr(r->errout.data, "cell 2"));
	assert_non_null(strstr(r->errout.data, "cell 1"));
	assert_non_null(strstr(r->errout.data, "raise ValueError('deep')"));
}

/* ---- the other languages ---- */

static void javascript_keeps_its_state_and_awaits_at_the_top(void **state)
{
	const char *js = "javascript";

	cell_in(*state, js, "main", "const x = 41; let y = 1; function f(a) { return a + y }");
	says(cell_in(*state, js, "main", "f(x)"), "42\n");
	says(cell_in(*state, js, "main", "const x = 1; class C {}; x"), "1\n");
	says(cell_in(*state, js, "main", "const z = await Promise.resolve(6); z * 7"), "42\n");
	says(cell_in(*state, js, "main", "console.log('out'); z"), "out\n6\n");
	assert_int_equal(cell_in(*state, js, "main", "throw new Error('no')")->exit_code, 1);
	assert_int_equal(cell_in(*state, js, "main", "process.exit(3)")->exit_code, 3);
	says(cell_in(*state, js, "main", "z"), "6\n");
}

static void ruby_keeps_its_state(void **state)
{
	cell_in(*state, "ruby", "main", "x = 41\ndef f(a) = a + 1");
	says(cell_in(*state, "ruby", "main", "puts f(x)\nnil"), "42\n");
	says(cell_in(*state, "ruby", "main", "f(x)"), "42\n");
	assert_int_equal(cell_in(*state, "ruby", "main", "raise 'no'")->exit_code, 1);
	assert_int_equal(cell_in(*state, "ruby", "main", "exit 3")->exit_code, 3);
	says(cell_in(*state, "ruby", "main", "x"), "41\n");
}

static void r_keeps_its_state(void **state)
{
	cell_in(*state, "r", "main", "x <- 41\nf <- function(a) a + 1");
	says(cell_in(*state, "r", "main", "f(x)"), "[1] 42\n");
	assert_int_equal(cell_in(*state, "r", "main", "stop('no')")->exit_code, 1);
	assert_int_equal(cell_in(*state, "r", "main", "q(status = 3)")->exit_code, 3);
	says(cell_in(*state, "r", "main", "cat(x, '\\n')"), "41 \n");
}

static void java_keeps_its_state(void **state)
{
	cell_in(*state, "java", "main", "int x = 41; int f(int a) { return a + 1; }");
	says(cell_in(*state, "java", "main", "System.out.println(f(x));"), "42\n");
	says(cell_in(*state, "java", "main", "f(x)"), "42\n");
	assert_int_equal(cell_in(*state, "java", "main", "throw new RuntimeException(\"no\");")->exit_code,
			 1);
	assert_int_equal(cell_in(*state, "java", "main", "System.exit(3);")->exit_code, 3);
	says(cell_in(*state, "java", "main", "x"), "41\n");
}

static const char *const looping[][3] = {
	{"javascript", "globalThis.x = 41", "for (;;) {}"},
	{"ruby", "x = 41", "loop {}"},
	{"r", "x <- 41", "while (TRUE) {}"},
	{"java", "int x = 41;", "while (true) {}"},
};

static void a_loop_of_any_language_is_interrupted_and_the_state_survives(void **state)
{
	struct test_sandbox *t = *state;

	for (size_t i = 0; i < sizeof(looping) / sizeof(looping[0]); i++) {
		const char *language = looping[i][0];
		const struct sbx_result *r;

		cell_in(t, language, language, looping[i][1]);
		t->io.timeout_ms = LOOP_MS;
		r = cell_in(t, language, language, looping[i][2]);
		t->io.timeout_ms = 0;
		assert_int_equal(r->reason, SBX_TIMEOUT);
		if (r->kernel_ended)
			fail_msg("%s: %s", language, r->message);
		assert_non_null(strstr(cell_in(t, language, language, "x")->out.data, "41"));
	}
}

static void every_language_can_be_reset(void **state)
{
	static const char *const codes[][3] = {
		{"python", "x = 41", "'x' in globals()"},
		{"javascript", "var x = 41", "typeof x !== 'undefined'"},
		{"ruby", "x = 41", "binding.local_variable_defined?(:x)"},
		{"r", "x <- 41", "exists('x')"},
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		const char *language = codes[i][0];
		const struct sbx_result *r;
		struct sbx_error err;

		cell_in(*state, language, language, codes[i][1]);
		if (sbx_kernel_reset(test_session(*state), language, &err) < 0)
			fail_msg("%s: %s", language, err.msg);
		r = cell_in(*state, language, language, codes[i][2]);
		if (strcasestr(r->out.data, "false") == NULL || r->message[0] != '\0')
			fail_msg("%s: '%s' '%s' %s", language, r->out.data, r->errout.data, r->message);
	}
}

static const struct sbx_result *rich_cell(struct test_sandbox *t, const char *code)
{
	return cell_in(t, "python", "rich", code);
}

static void ipython_has_its_magics(void **state)
{
	const struct sbx_result *r;

	if (rich_cell(*state, "import IPython")->exit_code != 0)
		test_skip_promised("IPython is not installed for the system's Python");
	r = rich_cell(*state, "%timeit -n 1 -r 1 pass");
	assert_non_null(strstr(r->out.data, "per loop"));
	says(rich_cell(*state, "!echo from the shell"), "from the shell\n");
	says(rich_cell(*state, "display(42)"), "42\n");
}

static void what_ipython_displays_comes_with_its_cell(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;
	uint32_t before;

	if (rich_cell(t, "from IPython.display import HTML")->exit_code != 0)
		test_skip_promised("IPython is not installed for the system's Python");
	rich_cell(t, "display(HTML('<i>unwanted</i>'))");
	t->io.artifacts = true;
	r = rich_cell(t, "display(HTML('<b>one</b>'))\nHTML('<b>two</b>')");
	assert_int_equal(r->artifact_count, 2);
	assert_int_equal(r->artifacts[0].kind, SBX_ARTIFACT_DISPLAY);
	assert_string_equal(r->artifacts[0].mime_type, "text/html");
	before = r->artifacts[1].number;
	r = rich_cell(t, "raise ValueError(display(HTML('<b>three</b>')))");
	assert_int_equal(r->artifact_count, 1);
	assert_true(r->artifacts[0].number > before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sandbox_test(a_variable_stays_between_cells),
		sandbox_test(the_value_of_the_last_expression_is_shown),
		sandbox_test(an_exception_leaves_the_state_alone),
		sandbox_test(a_cell_whose_time_is_over_is_interrupted_and_the_state_survives),
		sandbox_test(exit_ends_the_cell_with_its_code_and_keeps_the_state),
		sandbox_test(a_process_that_ends_is_told_and_the_next_cell_starts_another),
		sandbox_test(a_crash_is_told_and_the_next_cell_starts_another),
		sandbox_test(a_loop_that_ignores_the_interrupt_costs_the_state_and_is_said),
		sandbox_test(the_memory_limit_costs_the_state_and_is_said),
		sandbox_test(a_kernel_that_ended_between_cells_is_told_by_the_next),
		sandbox_test(a_result_that_has_more_to_tell_leaves_it_to_the_next),
		sandbox_test(a_gigabyte_of_output_is_bounded_and_ends_are_kept),
		sandbox_test(forks_of_a_cell_end_without_ending_it),
		sandbox_test(a_process_that_a_cell_left_goes_on_until_the_kernel_ends),
		sandbox_test(a_thread_left_running_goes_on_between_cells),
		sandbox_test(input_is_at_its_end),
		sandbox_test(what_a_cell_does_to_its_descriptors_harms_no_later_one),
		sandbox_test(words_that_no_kernel_says_end_it_and_nothing_else),
		sandbox_test(a_cell_that_ends_itself_harms_nobody_but_its_kernel),
		sandbox_test(two_kernels_of_a_session_know_nothing_of_each_other),
		sandbox_test(runs_between_cells_leave_the_kernel_alone),
		sandbox_test(another_thread_can_interrupt_a_cell_and_its_state_survives),
		sandbox_test(a_restart_ends_the_cell_that_runs_and_begins_anew),
		sandbox_test(cancelling_a_cell_interrupts_it_or_kills_its_kernel),
		sandbox_test(a_cell_that_was_cancelled_before_is_not_run_and_its_kernel_stays),
		sandbox_test(a_cell_that_was_interrupted_before_is_not_run),
		sandbox_test(a_start_that_was_cancelled_before_comes_to_its_end),
		sandbox_test(whatever_threads_do_at_once_the_session_goes_on),
		sandbox_test(start_list_reset_and_end_do_what_they_say),
		sandbox_test(the_history_has_what_was_run_and_what_it_came_to),
		sandbox_test(the_history_is_bounded),
		sandbox_test(names_that_cannot_be_are_refused),
		sandbox_test(a_language_without_kernels_is_refused_and_those_with_are_named),
		sandbox_test(what_a_cell_cannot_have_is_refused),
		sandbox_test(there_are_at_most_eight),
		sandbox_test(an_interpreter_that_is_missing_is_named),
		sandbox_test(a_kernel_that_cannot_be_started_costs_no_session),
		sandbox_test(a_cell_that_does_not_come_to_run_leaves_no_kernel),
		sandbox_test(output_comes_to_callbacks_with_the_value_behind_it),
		sandbox_test(files_are_there_before_the_cell_runs),
		sandbox_test(what_a_cell_makes_is_its_own),
		sandbox_test(tracebacks_name_the_cell_and_its_lines),
		sandbox_test(javascript_keeps_its_state_and_awaits_at_the_top),
		sandbox_test(ruby_keeps_its_state),
		sandbox_test(r_keeps_its_state),
		sandbox_test(java_keeps_its_state),
		sandbox_test(a_loop_of_any_language_is_interrupted_and_the_state_survives),
		sandbox_test(every_language_can_be_reset),
		sandbox_test(ipython_has_its_magics),
		sandbox_test(what_ipython_displays_comes_with_its_cell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
