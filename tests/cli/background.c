/* SPDX-License-Identifier: MIT */
/* Programs in the background of a session. */
#include "cli/session.h"

static void a_program_goes_on_beside_others(void **state)
{
	start_sessions(*state, "a");
	assert_script(
		*state,
		"llm-sandbox exec -S a --background -- sh -c 'echo begun; while ! test -e go; do "
		"sleep 0.05; done; echo over; exit 3'\n"
		"llm-sandbox session list | grep -c '^  1   running'\n"
		"llm-sandbox exec -S a -- sh -c 'echo beside; : > go'\n"
		"llm-sandbox session logs a 1 --wait; echo $?\n"
		"llm-sandbox session list | grep -c '^  1   ended: 3 '\n"
		"llm-sandbox session logs a 1; echo $?\n",
		"1\n1\nbeside\nbegun\nover\n3\n1\nbegun\nover\n0\n");
}

static void its_output_can_be_read_meanwhile(void **state)
{
	start_sessions(*state, "a");
	assert_script(
		*state,
		"llm-sandbox exec -S a -b -e X=y -- sh -c 'echo out $X; echo err >&2; sleep 1000'\n"
		"until llm-sandbox session logs a 1 2>&1 | grep -q err; do :; done\n"
		"llm-sandbox session logs a 1 2>/dev/null; llm-sandbox session logs a 1 2>&1 "
		">/dev/null\n",
		"1\nout y\nerr\n");
}

static void it_can_be_killed(void **state)
{
	start_sessions(*state, "a");
	assert_script(
		*state,
		"llm-sandbox exec -S a -b -- sleep 1000; llm-sandbox exec -S a -b -- sleep 1000\n"
		"llm-sandbox session kill a 2; llm-sandbox session logs a 2 -w; echo $?\n"
		"llm-sandbox session kill a 2; echo $?; llm-sandbox session kill a 3; echo $?\n"
		"llm-sandbox session kill a x; echo $?; llm-sandbox session logs a; echo $?\n"
		"llm-sandbox exec -S a -b --timeout 100ms -- sleep 1000\n"
		"llm-sandbox session logs a 3 -w; echo $?\n",
		"1\n2\n137\n0\n125\n2\n2\n3\n124\n");
}

static void its_session_ends_all_the_same(void **state)
{
	start_sessions(*state, "b");
	assert_script(
		*state,
		"llm-sandbox session start a --session-timeout 1s --idle-timeout 300ms\n"
		"llm-sandbox exec -S a -b -- sleep 1000\n"
		"while llm-sandbox session list | grep -q '^a '; do read -t 0.05 < <(:); done\n"
		"llm-sandbox session logs a 1; echo $?\n"
		"llm-sandbox exec -S b -b -- sleep 1000; llm-sandbox session stop b; echo $?\n",
		"a\n1\n125\n1\n0\n");
}

static void it_needs_a_session(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "exec", "-b", "--", "true", NULL);

	assert_status(r, 2);
	assert_contains(r->err, "--background needs --session");
}

int background_group(void)
{
	const struct CMUnitTest tests[] = {
		session_test(a_program_goes_on_beside_others),
		session_test(its_output_can_be_read_meanwhile),
		session_test(it_can_be_killed),
		session_test(its_session_ends_all_the_same),
		session_test(it_needs_a_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
