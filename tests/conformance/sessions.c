/* SPDX-License-Identifier: MIT */
/* Sessions and commands: what stays between runs, what does not, and who waits for whom. */
#include "support/sandbox.h"

#include <llmsandbox/container.h>

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Case 34. */
static void files_stay_between_runs_and_variables_do_not(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_run(t, "python", "x = 41\nopen('kept.txt', 'w').write('kept')\n");
	r = test_run(t, "python", "print(open('kept.txt').read(), 'x' in globals())\n");
	assert_string_equal(r->out.data, "kept False\n");
}

/* Case 27. */
static void an_empty_command_is_an_error(void **state)
{
	struct test_sandbox *t = *state;
	static const char *const none[] = {NULL};
	static const char *const blank[] = {"", NULL};
	struct sbx_command command = {.argv = none};
	struct sbx_result *r = NULL;
	struct sbx_error err;

	assert_true(sbx_session_exec(test_session(t), &command, &r, &err) < 0);
	assert_int_equal(err.code, SBX_E_INVALID);
	command.argv = blank;
	assert_true(sbx_session_exec(test_session(t), &command, &r, &err) < 0);
	assert_int_equal(err.code, SBX_E_INVALID);
}

static void a_missing_command_is_an_error_and_the_session_lives_on(void **state)
{
	struct test_sandbox *t = *state;
	static const char *const argv[] = {"no-such-program", NULL};
	struct sbx_command command = {.argv = argv};
	struct sbx_result *r = NULL;
	struct sbx_error err;

	assert_true(sbx_session_exec(test_session(t), &command, &r, &err) < 0);
	assert_int_equal(err.code, SBX_E_NOT_FOUND);
	assert_non_null(strstr(err.msg, "no-such-program"));
	assert_string_equal(test_shell(t, "echo next")->out.data, "next\n");
}

/* Case 28, the part of one command: its exit code and both streams. */
static void a_failing_command_gives_its_output(void **state)
{
	const struct sbx_result *r = test_shell(*state, "echo some; echo no >&2; exit 5");

	assert_int_equal(r->exit_code, 5);
	assert_string_equal(r->out.data, "some\n");
	assert_string_equal(r->errout.data, "no\n");
}

#define SHELL_COMMAND(script) {.argv = (const char *const[]){"sh", "-c", script, NULL}}

/* Case 28. */
static void commands_stop_at_the_first_that_fails(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_command commands[] = {
		SHELL_COMMAND("echo one"),
		SHELL_COMMAND("echo two; echo no >&2; exit 5"),
		SHELL_COMMAND("echo three > three"),
	};
	struct sbx_result *r = NULL;
	struct sbx_error err;

	assert_int_equal(sbx_session_exec_all(test_session(t), commands, 3, &r, &err), 0);
	assert_int_equal(r->exit_code, 5);
	assert_string_equal(r->out.data, "two\n");
	assert_string_equal(r->errout.data, "no\n");
	sbx_result_free(r);
	assert_int_equal(test_shell(t, "test -e three")->exit_code, 1);
	assert_int_equal(sbx_session_exec_all(test_session(t), commands, 1, &r, &err), 0);
	assert_string_equal(r->out.data, "one\n");
	sbx_result_free(r);
}

/* Case 29. */
static void no_commands_are_an_empty_success(void **state)
{
	struct sbx_result *r = NULL;
	struct sbx_error err;

	assert_int_equal(sbx_session_exec_all(test_session(*state), NULL, 0, &r, &err), 0);
	assert_int_equal(r->exit_code, 0);
	assert_int_equal(r->out.len + r->errout.len, 0);
	sbx_result_free(r);
}

/* Case 30. */
static void a_command_runs_in_the_folder_it_is_given(void **state)
{
	struct test_sandbox *t = *state;
	static const char *const argv[] = {"pwd", NULL};
	struct sbx_command command = {.argv = argv, .cwd = "/tmp"};

	assert_string_equal(test_command(t, &command)->out.data, "/tmp\n");
}

static void arguments_reach_a_command_unchanged(void **state)
{
	const struct sbx_result *r =
		test_exec(*state, "printf", "[%s]", "a b", "$(id)", "", "*", "'\"", NULL);

	assert_string_equal(r->out.data, "[a b][$(id)][][*]['\"]");
}

/* Case 32. */
static void files_are_there_before_the_program(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_file files[] = {
		{.name = "data/deep/a.txt", .data = "one", .len = 3},
		{.name = "b.bin", .data = "\0\xff", .len = 2},
		{.name = "empty"},
	};
	const struct sbx_result *r;

	t->io.files = files;
	t->io.file_count = 3;
	r = test_run(t, "python",
		     "print(open('data/deep/a.txt').read(), list(open('b.bin', 'rb').read()),\n"
		     "      len(open('empty').read()))\n");
	assert_string_equal(r->out.data, "one [0, 255] 0\n");
	assert_string_equal(test_shell(t, "cat data/deep/a.txt")->out.data, "one");
	t->io.file_count = 0;
	assert_string_equal(test_shell(t, "ls")->out.data, "b.bin\ndata\nempty\nmain.py\n");
}

static void a_file_outside_the_work_folder_is_refused(void **state)
{
	static const char *const names[] = {"", "/etc/passwd", "../x", "a/../../x", "a//b", "a/",
					    ".",	"./x",		"main.py"};
	struct test_sandbox *t = *state;
	struct sbx_file files[] = {{.name = "good"}, {.name = NULL}};
	struct sbx_run run = {
		.language = "python", .code = "1", .code_len = 1, .io = {.files = files, .file_count = 2}};
	struct sbx_result *r = NULL;
	struct sbx_error err;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		files[1].name = names[i];
		assert_true(sbx_session_run(test_session(t), &run, &r, &err) < 0);
		assert_int_equal(err.code, SBX_E_INVALID);
	}
	assert_string_equal(test_shell(t, "echo lives")->out.data, "lives\n");
}

static void a_file_that_cannot_be_put_is_an_error_before_the_program(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_file files[] = {{.name = "a"}, {.name = "a/b"}, {.name = "a/c"}};
	struct sbx_run run = {.language = "python",
			      .code = "open('ran', 'w')",
			      .code_len = 16,
			      .io = {.files = files, .file_count = 3}};
	struct sbx_result *r = NULL;
	struct sbx_error err;

	assert_true(sbx_session_run(test_session(t), &run, &r, &err) < 0);
	assert_string_equal(test_shell(t, "ls")->out.data, "a\n");
}

static void variables_of_spec_and_run_override_the_defaults(void **state)
{
	struct test_sandbox *t = *state;
	static const char *const extra[] = {"PYTHONUNBUFFERED=0", "LAST=run", NULL};
	const char *code = "import os\nprint(os.environ['PYTHONUNBUFFERED'], "
			   "os.environ.get('FIRST'), os.environ.get('LAST'))\n";

	assert_int_equal(sbx_spec_add_env(t->spec, "FIRST=spec", NULL), 0);
	assert_int_equal(sbx_spec_add_env(t->spec, "LAST=spec", NULL), 0);
	assert_string_equal(test_run(t, "python", code)->out.data, "1 spec spec\n");
	t->io.env = extra;
	assert_string_equal(test_run(t, "python", code)->out.data, "0 spec run\n");
	t->io.env = NULL;
	assert_string_equal(test_run(t, "python", code)->out.data, "1 spec spec\n");
}

static void the_environment_of_the_host_stays_outside(void **state)
{
	const struct sbx_result *r;

	assert_int_equal(setenv("SBX_TEST_SECRET", "not to be seen", 1), 0);
	r = test_exec(*state, "env", NULL);
	unsetenv("SBX_TEST_SECRET");
	assert_null(strstr(r->out.data, "SBX_TEST_SECRET"));
	assert_non_null(strstr(r->out.data, "PATH="));
	assert_non_null(strstr(r->out.data, "HOME="));
}

/* Case 44: no library is installed, and programs run with the tools that are there. */
static void a_session_without_setup_runs_and_installs_nothing(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_run run = {.language = "python", .code = "print(1)", .code_len = 8,
			      .libraries = (const char *const[]){"any", NULL}};
	struct sbx_result *r = NULL;
	struct sbx_error err;

	sbx_spec_skip_environment_setup(t->spec, true);
	assert_int_equal(sbx_session_run(test_session(t), &run, &r, &err), -SBX_E_INVALID);
	assert_non_null(strstr(err.msg, "switched off"));
	assert_string_equal(test_run(t, "python", "print(2)")->out.data, "2\n");
}

static void open_close_without_a_run_is_fine(void **state)
{
	test_session(*state);
}

static void two_sessions_do_not_see_each_other(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_session *other = NULL;
	static const char *const argv[] = {"ls", "-A", NULL};
	struct sbx_command command = {.argv = argv};
	struct sbx_result *r = NULL;

	test_shell(t, "echo mine > mine.txt");
	assert_int_equal(sbx_session_open(t->spec, &other, NULL), 0);
	assert_int_equal(sbx_session_exec(other, &command, &r, NULL), 0);
	assert_null(strstr(r->out.data, "mine.txt"));
	sbx_result_free(r);
	sbx_session_close(other);
	assert_string_equal(test_shell(t, "cat mine.txt")->out.data, "mine\n");
}

/* ---- threads ---- */

struct worker {
	pthread_t thread;
	struct sbx_session *session;
	const char *script;
	struct sbx_result *result;
	int r;
};

static void *work(void *userdata)
{
	struct worker *w = userdata;
	const char *argv[] = {"/bin/sh", "-c", w->script, NULL};
	struct sbx_command command = {.argv = argv};

	w->r = sbx_session_exec(w->session, &command, &w->result, NULL);
	return NULL;
}

static void start(struct worker *w)
{
	assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
}

static void finish(struct worker *w)
{
	pthread_join(w->thread, NULL);
	assert_int_equal(w->r, 0);
}

/* What the script says, and another one from now on. */
static void run_first(struct worker *w, const char *next)
{
	work(w);
	assert_int_equal(w->r, 0);
	sbx_result_free(w->result);
	w->script = next;
}

static void sessions_run_in_parallel(void **state)
{
	struct test_sandbox *t = *state;
	struct worker first = {.session = test_session(t), .script = "true"};
	struct worker second = {.script = "true"};
	uint64_t begin;

	assert_int_equal(sbx_session_open(t->spec, &second.session, NULL), 0);
	/* Containers take their time to start. */
	run_first(&first, "sleep 0.7; echo first");
	run_first(&second, "sleep 0.7; echo second");
	begin = sbx_now_ns();
	start(&first);
	start(&second);
	finish(&first);
	finish(&second);
	assert_true(sbx_now_ns() - begin < 1400 * SBX_NS_PER_MS);
	assert_string_equal(first.result->out.data, "first\n");
	assert_string_equal(second.result->out.data, "second\n");
	sbx_result_free(first.result);
	sbx_result_free(second.result);
	sbx_session_close(second.session);
}

/* Both scripts fail when they meet the other one's folder. */
static void a_second_operation_of_a_session_waits(void **state)
{
	struct test_sandbox *t = *state;
	const char *script = "mkdir busy || exit 1; sleep 0.3; rmdir busy";
	struct worker workers[2] = {{.session = test_session(t), .script = script},
				    {.session = test_session(t), .script = script}};
	uint64_t queued;

	start(&workers[0]);
	start(&workers[1]);
	finish(&workers[0]);
	finish(&workers[1]);
	assert_int_equal(workers[0].result->exit_code, 0);
	assert_int_equal(workers[1].result->exit_code, 0);
	queued = workers[0].result->timings.queue + workers[1].result->timings.queue;
	assert_true(queued > 100 * SBX_NS_PER_MS);
	sbx_result_free(workers[0].result);
	sbx_result_free(workers[1].result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sandbox_test(files_stay_between_runs_and_variables_do_not),
		sandbox_test(an_empty_command_is_an_error),
		sandbox_test(a_missing_command_is_an_error_and_the_session_lives_on),
		sandbox_test(a_failing_command_gives_its_output),
		sandbox_test(commands_stop_at_the_first_that_fails),
		sandbox_test(no_commands_are_an_empty_success),
		sandbox_test(a_command_runs_in_the_folder_it_is_given),
		sandbox_test(arguments_reach_a_command_unchanged),
		sandbox_test(files_are_there_before_the_program),
		sandbox_test(a_file_outside_the_work_folder_is_refused),
		sandbox_test(a_file_that_cannot_be_put_is_an_error_before_the_program),
		sandbox_test(variables_of_spec_and_run_override_the_defaults),
		sandbox_test(the_environment_of_the_host_stays_outside),
		sandbox_test(a_session_without_setup_runs_and_installs_nothing),
		sandbox_test(open_close_without_a_run_is_fine),
		sandbox_test(two_sessions_do_not_see_each_other),
		sandbox_test(sessions_run_in_parallel),
		sandbox_test(a_second_operation_of_a_session_waits),
	};

	return cmocka_run_group_tests_name("sessions", tests, NULL, NULL);
}
