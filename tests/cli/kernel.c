/* SPDX-License-Identifier: MIT */
/* Kernels and artifacts of sessions. */
#include "cli/session.h"
#include "cli/talk.h"

#define CELL "llm-sandbox run -S a -k k -l python "

static void a_kernel_remembers_between_commands(void **state)
{
	start_sessions(*state, "a");
	assert_script(*state,
		      CELL "-c 'x = 41'\n" CELL "-c 'x + 1'\n"
			   "echo 'x + 2' | " CELL "\n"
			   "llm-sandbox run -S a -l python -c 'print(\"x\" in globals())'\n",
		      "42\n43\nFalse\n");
}

static void a_cell_needs_a_session_and_has_no_arguments(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "run", "-k", "k", "-l", "python",
				      "-c", "1", NULL);

	assert_status(r, 2);
	assert_contains(r->err, "--kernel needs --session");
	r = program(*state, (struct call){0}, "run", "-S", "a", "-k", "k", "-l", "python", "-c",
		    "1", "word", NULL);
	assert_status(r, 2);
	assert_contains(r->err, "a cell of a kernel has no arguments");
}

static void kernels_are_listed_and_ended(void **state)
{
	start_sessions(*state, "a");
	assert_script(*state,
		      CELL "-c 'x = 41'\n"
			   "llm-sandbox kernel list -S a | awk '{ print $1, $2, $4, $5 }'\n"
			   "llm-sandbox kernel reset -S a k\n" CELL "-c '\"x\" in globals()'\n"
			   "llm-sandbox kernel end -S a k; llm-sandbox kernel list -S a\n"
			   "llm-sandbox kernel end -S a k 2>&1; echo $?\n"
			   "llm-sandbox kernel list -S a --json\n",
		      "NAME LANGUAGE STATE CELLS\nk python idle 1\nFalse\n"
		      "llm-sandbox: the session has no kernel 'k'\n125\n"
		      "{\n  \"kernels\": []\n}\n");
}

/* The cell has the session's turn, and the interrupt does not wait for it. */
static void a_cell_is_interrupted_from_another_terminal(void **state)
{
	start_sessions(*state, "a");
	assert_script(
		*state,
		CELL
		"-c 'x = 41'\n"
		"mkfifo begun\n" CELL
		"--stream -c 'print(1, flush=True)\nwhile True: pass' > begun 2> err & pid=$!\n"
		"read line < begun; llm-sandbox kernel interrupt -S a k\n"
		"wait $pid; echo $?; tail -n 1 err\n" CELL "-c x\n",
		"130\nKeyboardInterrupt\n41\n");
}

static void artifacts_of_a_session_are_saved_too(void **state)
{
	start_sessions(*state, "a");
	assert_script(
		*state,
		"llm-sandbox run -S a -A out -l python -c 'open(\"t.csv\", "
		"\"w\").write(\"a,b\\n\")' "
		"2> err; tail -n 1 err; cat out/t.csv\n" CELL
		"-A cell -c 'n = open(\"u.csv\", \"w\").write(\"c,d\\n\")' 2> err; cat cell/u.csv\n"
		"llm-sandbox run -S a --json -A out -l python -c 'open(\"v.csv\", "
		"\"w\").write(\"e\\n\")' "
		"| grep -c '\"saved_as\": \"/.*/out/v.csv\"'\n",
		"t.csv  text/csv      4B\na,b\nc,d\n1\n");
}

static void a_repl_shares_the_kernel_of_a_session(void **state)
{
	const char *argv[] = {"llm-sandbox", "repl", "-S", "a", "-k", "k", NULL};
	struct talk talk;

	start_sessions(*state, "a");
	assert_script(*state, CELL "-c 'x = 41'\n", "");
	talk_begin(*state, &talk, argv, NULL);
	talk_expect(&talk, "kernel 'k' of session 'a'");
	talk_expect(&talk, "python> ");
	talk_type(&talk, "x += 1; x\r");
	talk_expect(&talk, "\r\n42\r\n");
	talk_expect(&talk, "python> ");
	talk_type(&talk, "print('begun'); import time; time.sleep(1000)\r");
	talk_expect(&talk, "\r\nbegun\r\n");
	talk_type(&talk, "\003");
	talk_expect(&talk, "KeyboardInterrupt");
	talk_expect(&talk, "python> ");
	assert_int_equal(talk_end(&talk, "\004"), 0);
	talk_done(&talk);
	assert_script(*state, CELL "-c 'x'\n", "42\n");
}

int kernel_group(void)
{
	const struct CMUnitTest tests[] = {
		session_test(a_kernel_remembers_between_commands),
		session_test(a_cell_needs_a_session_and_has_no_arguments),
		session_test(kernels_are_listed_and_ended),
		session_test(a_cell_is_interrupted_from_another_terminal),
		session_test(artifacts_of_a_session_are_saved_too),
		session_test(a_repl_shares_the_kernel_of_a_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
