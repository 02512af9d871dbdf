/* SPDX-License-Identifier: MIT */
/* Named sessions: `session start|list|stop`, `run --session`, `exec --session`. */
#include "cli/session.h"

#include <jansson.h>
#include <stdio.h>

/* The holder has its lock until it is gone. */
int session_teardown(void **state)
{
	const struct ran *r = shell(*state, "llm-sandbox session stop --all && "
					    "{ test ! -e $RUNTIME/holder.lock || "
					    "flock -w 60 $RUNTIME/holder.lock true; }");
	int status = r->status;

	cli_teardown(state);
	return status;
}

void start_sessions(struct cli_state *t, const char *names)
{
	char script[512];

	snprintf(script, sizeof(script),
		 "for name in %s; do llm-sandbox session start $name || exit; done", names);
	assert_status(shell(t, script), 0);
}

void assert_script(struct cli_state *t, const char *script, const char *out)
{
	const struct ran *r = shell(t, script);

	if (strcmp(r->out, out) != 0)
		fail_msg("it printed: %.2000s; stderr: %.2000s", r->out, r->err);
}

static void files_stay_and_processes_do_not(void **state)
{
	start_sessions(*state, "a");
	assert_script(*state,
		      "llm-sandbox run -S a -l python -c 'open(\"f\", \"w\").write(\"kept\\n\")'\n"
		      "llm-sandbox exec -S a -- sh -c 'cat f; sleep 1000 & exit 3'; echo $?",
		      "kept\n3\n");
	if (!is_fake()) /* which sees the whole machine */
		assert_script(
			*state,
			"llm-sandbox exec -S a -- sh -c 'cat /proc/[0-9]*/comm' | grep -c sleep",
			"0\n");
}

static void a_session_gets_a_name(void **state)
{
	assert_script(*state,
		      "name=$(llm-sandbox session start) && llm-sandbox exec -S $name -- echo yes\n"
		      "test \"$(llm-sandbox session list --json | grep -c '\"name\": "
		      "\"'$name'\"')\" = 1 && "
		      "echo listed",
		      "yes\nlisted\n");
}

static void a_list_says_what_there_is(void **state)
{
	const struct ran *r;
	json_t *list, *first;

	assert_script(*state, "llm-sandbox session list; llm-sandbox session list --json", "[]\n");
	assert_status(shell(*state, "llm-sandbox session start a -l python --idle-timeout 10m &&"
				    "llm-sandbox session start b --session-timeout 20m"),
		      0);
	r = shell(*state, "llm-sandbox session list --json");
	list = json_loads(r->out, 0, NULL);
	first = json_array_get(list, 0);
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(json_string_value(json_object_get(first, "name")), "a");
	assert_string_equal(json_string_value(json_object_get(first, "language")), "python");
	assert_in_range(json_integer_value(json_object_get(first, "expires_in_ms")), 1, 600000);
	assert_true(json_is_null(json_object_get(first, "lifetime_left_ms")));
	assert_in_range(
		json_integer_value(json_object_get(json_array_get(list, 1), "lifetime_left_ms")), 1,
		1200000);
	json_decref(list);
	r = shell(*state, "llm-sandbox session list");
	assert_contains(r->out, "a                    python");
	assert_contains(r->out, "b                    any");
}

static void it_ends_as_without_a_session(void **state)
{
	start_sessions(*state, "a");
	assert_script(*state,
		      "llm-sandbox run -S a -l python -c 'raise SystemExit(7)'; echo $?\n"
		      "llm-sandbox exec -S a -- sh -c 'kill -9 $$'; echo $?\n"
		      "llm-sandbox exec -S a --timeout 200ms -- sleep 1000; echo $?\n"
		      "llm-sandbox exec -S a -- no-such-program; echo $?\n"
		      "llm-sandbox exec -S a; echo $?\n"
		      "llm-sandbox exec -S a -- true; echo $?\n",
		      "7\n137\n124\n125\n2\n0\n");
}

static void what_is_wrong_gets_a_clear_sentence(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r =
		program(t, (struct call){0}, "exec", "-S", "none", "--", "true", NULL);

	assert_status(r, 125);
	assert_contains(r->err, "no session is open");
	start_sessions(t, "alpha");
	r = program(t, (struct call){0}, "exec", "-S", "alhpa", "--", "true", NULL);
	assert_status(r, 125);
	assert_contains(r->err, "there is no session 'alhpa'");
	assert_contains(r->err, "did you mean 'alpha'?");
	r = program(t, (struct call){0}, "session", "stop", "alpah", NULL);
	assert_status(r, 125);
	assert_contains(r->err, "did you mean 'alpha'?");
	r = program(t, (struct call){0}, "session", "start", "alpha", NULL);
	assert_status(r, 2);
	assert_contains(r->err, "there is a session 'alpha' already");
	r = program(t, (struct call){0}, "session", "start", "a/b", NULL);
	assert_status(r, 2);
	assert_contains(r->err, "'a/b' is no name");
	r = program(t, (struct call){0}, "session", "start", "a", "b", NULL);
	assert_status(r, 2);
	r = program(t, (struct call){0}, "exec", "-S", "alpha", "--memory", "1G", "--", "true",
		    NULL);
	assert_status(r, 2);
	assert_contains(r->err, "--memory cannot change in a session");
	r = program(t, (struct call){0}, "session", "strat", NULL);
	assert_status(r, 2);
	assert_contains(r->err, "did you mean 'session start'?");
	assert_status(program(t, (struct call){0}, "session", NULL), 2);
	assert_status(program(t, (struct call){0}, "session", "stop", NULL), 2);
	r = program(t, (struct call){0}, "session", "start", "--memory", "1", "x", NULL);
	assert_status(r, 2);
	assert_contains(r->err, "--memory: '1' is out of range");
}

static void options_of_the_start_are_those_of_the_session(void **state)
{
	struct cli_state *t = *state;

	write_file(t, "seen", "here\n", 5);
	assert_status(shell(t, "export OURS=ours; printf 'env:\\n  FILE: c\\n' > c.yaml\n"
			       "llm-sandbox session start a -e A='b c' -e OURS --config c.yaml "
			       "--execution-timeout 300ms"),
		      0);
	assert_script(t,
		      "llm-sandbox exec -S a -- sh -c 'echo $A $OURS $FILE'\n"
		      "llm-sandbox exec -S a -e A=d -e B=e -- sh -c 'echo $A $B'\n"
		      "llm-sandbox exec -S a -- sh -c 'echo $A'\n"
		      "llm-sandbox exec -S a -- sleep 1000; echo $?\n"
		      "llm-sandbox exec -S a --timeout 60s -- sleep 0.5; echo $?\n",
		      "b c ours c\nd e\nb c\n124\n0\n");
	if (is_fake())
		return;
	/* A relative path is one of the folder in which the session was started. */
	assert_status(shell(t, "llm-sandbox session start b -v .:/data --workdir /tmp/w"), 0);
	assert_script(t, "cd /; llm-sandbox exec -S b -- sh -c 'cat /data/seen; pwd'",
		      "here\n/tmp/w\n");
}

static void stdin_and_arguments_arrive(void **state)
{
	start_sessions(*state, "a");
	assert_script(
		*state,
		"echo text | llm-sandbox exec -S a -- cat\n"
		"llm-sandbox exec -S a -- cat < /dev/null\n"
		"echo 'print(input())' > p.py; echo word | llm-sandbox run -S a p.py\n"
		"echo 'import sys; print(sys.argv[1:])' | "
		"llm-sandbox run -S a -l python -- x $'\\xff' '' | od -An -c | tr -d ' \\n'; echo\n"
		"head -c 3000000 /dev/zero | llm-sandbox exec -S a -- wc -c\n",
		"text\nword\n['x','\\udcff','']\\n\n3000000\n");
}

static void a_terminal_is_read_by_the_client(void **state)
{
	start_sessions(*state, "a");
	assert_script(
		*state,
		"printf 'typed\\n' | script -qec 'llm-sandbox exec -S a -- head -n 1' /dev/null | "
		"tr -d '\\r' | sort -u\n",
		"typed\n");
}

static void output_is_as_without_a_session(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r;
	json_t *object;

	assert_status(shell(t, "llm-sandbox session start a --output-head 2 --output-tail 2"), 0);
	r = program(t, (struct call){0}, "exec", "-S", "a", "--", "printf", "ab1234cd", NULL);
	assert_string_equal(r->out, "abcd");
	assert_contains(r->err, "stdout: 4 bytes left out");
	r = program(t, (struct call){0}, "exec", "-S", "a", "--stream", "--", "printf", "ab1234cd",
		    NULL);
	assert_string_equal(r->out, "ab1234cd");
	r = program(t, (struct call){0}, "exec", "-S", "a", "--json", "--", "sh", "-c",
		    "echo; echo >&2; exit 3", NULL);
	assert_status(r, 3);
	object = json_loads(r->out, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(object, "stdout")), "\n");
	assert_int_equal(json_integer_value(json_object_get(object, "exit_code")), 3);
	json_decref(object);
	r = program(t, (struct call){.terminal = true}, "exec", "-S", "a", "--stream", "--",
		    "printf", "\\033]0;x\\007", NULL);
	assert_string_equal(r->out, "^[]0;x^G");
	r = program(t, (struct call){.no_reader = true}, "exec", "-S", "a", "--stream", "--", "yes",
		    NULL);
	assert_status(r, 141);
	assert_string_equal(r->err, "");
	r = program(t, (struct call){0}, "exec", "-S", "a", "--json", "--stream", "--", "echo",
		    NULL);
	assert_contains(r->out, "{\"stream\":\"stdout\",\"text\":\"\\n\"}\n{\"exit_code\": 0");
}

/* ---- signals, and clients that go away ---- */

/* Job control, because a shell without it starts its children deaf to SIGINT. */
#define LAUNCH(script)                                                                           \
	"set -m; exec 3< <(exec llm-sandbox exec -S a --stream -- sh -c '" script "'); pid=$!; " \
	"read -r -u 3 line; "

static void one_interrupt_is_passed_on_and_two_kill(void **state)
{
	start_sessions(*state, "a");
	assert_script(
		*state,
		LAUNCH("trap \"echo caught\" INT; echo; while :; do sleep 1; done") "kill -INT "
										    "$pid; read -r "
										    "-u 3 line; "
										    "echo $line; "
										    "kill -INT "
										    "$pid; wait "
										    "$pid; echo $?",
		"caught\n130\n");
	assert_script(*state, LAUNCH("echo; sleep 1000") "kill -TERM $pid; wait $pid; echo $?",
		      "143\n");
}

static void a_killed_client_takes_its_program_with_it(void **state)
{
	start_sessions(*state, "a");
	assert_script(*state,
		      LAUNCH("echo; sleep 1000") "kill -KILL $pid; wait $pid\n"
						 "llm-sandbox exec -S a -- echo next",
		      "next\n");
}

static void two_terminals_use_one_session(void **state)
{
	start_sessions(*state, "a");
	assert_script(*state,
		      LAUNCH("echo; read -r x; echo $x") "llm-sandbox exec -S a -- echo second & "
							 "kill -TERM $pid; wait",
		      "second\n");
}

static void sessions_do_not_wait_for_each_other(void **state)
{
	start_sessions(*state, "a b");
	assert_script(*state,
		      LAUNCH("echo; sleep 1000") "llm-sandbox exec -S b -- echo beside; kill -TERM "
						 "$pid; wait $pid; echo $?",
		      "beside\n143\n");
}

static void a_client_that_does_not_read_holds_up_nobody(void **state)
{
	start_sessions(*state, "a b");
	assert_script(*state,
		      LAUNCH("exec yes") "llm-sandbox exec -S b -- echo beside; "
					 "llm-sandbox session stop a && echo stopped; exec 3<&-; "
					 "wait $pid; echo $?",
		      "beside\nstopped\n141\n");
}

static void stopping_a_session_ends_what_runs_in_it(void **state)
{
	start_sessions(*state, "a");
	assert_script(*state,
		      LAUNCH("echo; sleep 1000") "llm-sandbox session stop a; wait $pid; echo $?; "
						 "llm-sandbox session list",
		      "125\n");
}

static void twenty_sessions_run_at_once(void **state)
{
	assert_script(*state,
		      "for i in $(seq 20); do (llm-sandbox session start s$i > /dev/null && "
		      "llm-sandbox exec -S s$i -- sh -c \"echo $i > f; cat f\") & done | sort -n | "
		      "tr '\\n' ' '; "
		      "wait; llm-sandbox session list --json | grep -c '\"name\"'",
		      "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 20\n");
}

/* ---- ends by themselves ---- */

static void an_idle_session_ends_and_says_so(void **state)
{
	const struct ran *r;

	assert_status(shell(*state, "llm-sandbox session start a --idle-timeout 200ms; "
				    "llm-sandbox session start b"),
		      0);
	/* The list is empty as soon as it has ended; there is nothing to wait on but that. */
	shell(*state,
	      "while llm-sandbox session list | grep -q '^a '; do read -t 0.05 < <(:); done");
	r = program(*state, (struct call){0}, "exec", "-S", "a", "--", "true", NULL);
	assert_status(r, 125);
	assert_contains(r->err, "without use");
}

static void a_session_has_a_life(void **state)
{
	const struct ran *r;

	assert_status(shell(*state, "llm-sandbox session start a --session-timeout 1s"), 0);
	r = program(*state, (struct call){0}, "exec", "-S", "a", "--", "sleep", "1000", NULL);
	assert_status(r, 125);
	assert_contains(r->err, "life");
	shell(*state,
	      "while llm-sandbox session list | grep -q '^a '; do read -t 0.05 < <(:); done");
	assert_status(program(*state, (struct call){0}, "exec", "-S", "a", "--", "true", NULL),
		      125);
}

int session_group(void)
{
	const struct CMUnitTest tests[] = {
		session_test(files_stay_and_processes_do_not),
		session_test(a_session_gets_a_name),
		session_test(a_list_says_what_there_is),
		session_test(it_ends_as_without_a_session),
		session_test(what_is_wrong_gets_a_clear_sentence),
		session_test(options_of_the_start_are_those_of_the_session),
		session_test(stdin_and_arguments_arrive),
		session_test(a_terminal_is_read_by_the_client),
		session_test(output_is_as_without_a_session),
		session_test(one_interrupt_is_passed_on_and_two_kill),
		session_test(a_killed_client_takes_its_program_with_it),
		session_test(two_terminals_use_one_session),
		session_test(sessions_do_not_wait_for_each_other),
		session_test(a_client_that_does_not_read_holds_up_nobody),
		session_test(stopping_a_session_ends_what_runs_in_it),
		session_test(twenty_sessions_run_at_once),
		session_test(an_idle_session_ends_and_says_so),
		session_test(a_session_has_a_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
