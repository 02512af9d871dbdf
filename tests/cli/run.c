/* SPDX-License-Identifier: MIT */
/* What `run` and `exec` print and how they end. */
#include "cli/driver.h"

#include <jansson.h>

static void prints_what_the_program_printed(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "run", "-l", "python", "-c",
				      "import sys; print('out'); print('err', file=sys.stderr)", NULL);

	assert_status(r, 0);
	assert_string_equal(r->out, "out\n");
	assert_string_equal(r->err, "err\n");
}

static void ends_as_the_program_ended(void **state)
{
	assert_status(program(*state, (struct call){0}, "run", "-l", "python", "-c",
			      "raise SystemExit(7)", NULL), 7);
	assert_status(program(*state, (struct call){0}, "exec", "--", "sh", "-c", "kill -9 $$", NULL),
		      137);
}

static void a_timeout_is_124_and_says_so(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "exec", "--timeout", "200ms", "--",
				      "sleep", "100", NULL);

	assert_status(r, 124);
	assert_contains(r->err, "llm-sandbox: ");
}

/* The run's own flag, then the time of every run, then the standard; 0 is as good as not given. */
static void the_nearest_time_limit_counts(void **state)
{
	struct cli_state *t = *state;
	const char *both[] = {"LLM_SANDBOX_TIMEOUT=200ms", "LLM_SANDBOX_EXECUTION_TIMEOUT=200ms", NULL};
	struct call call = {.env = both}, first = {.env = (const char *[]){both[0], NULL}};

	assert_status(program(t, call, "exec", "--", "sleep", "100", NULL), 124);
	assert_status(program(t, call, "exec", "--timeout", "0", "--", "sleep", "100", NULL), 124);
	assert_status(program(t, call, "exec", "--timeout", "none", "--", "sleep", "0.5", NULL), 0);
	assert_status(program(t, call, "exec", "--timeout", "60", "--", "sleep", "0.5", NULL), 0);
	assert_status(program(t, first, "exec", "--execution-timeout", "none", "--", "sleep", "0.5", NULL),
		      0);
	assert_status(program(t, first, "exec", "--execution-timeout", "0", "--", "sleep", "100", NULL),
		      124);
}

static void reads_code_from_stdin_or_a_file(void **state)
{
	struct cli_state *t = *state;
	const char *code = "import sys; print(sys.argv[1:], repr(sys.stdin.read()))";
	const char *path = write_file(t, "words.py", code, strlen(code));
	struct call in_code = {.in = code}, in_text = {.in = "text"};

	assert_string_equal(program(t, in_code, "run", "-l", "python", NULL)->out, "[] ''\n");
	assert_string_equal(program(t, in_code, "run", "-l", "python", "-", "a", NULL)->out,
			    "['a'] ''\n");
	assert_string_equal(program(t, in_code, "run", "-l", "py", "--", "-x", NULL)->out,
			    "['-x'] ''\n");
	assert_string_equal(program(t, in_text, "run", path, "-l", "b", NULL)->out,
			    "['-l', 'b'] 'text'\n");
	assert_string_equal(program(t, in_text, "run", path, "--", "--", "b", NULL)->out,
			    "['--', 'b'] 'text'\n");
	assert_string_equal(program(t, in_text, "run", "-l", "python", "-c", code, "a", NULL)->out,
			    "['a'] 'text'\n");
}

static void json_is_one_object_and_nothing_else(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "run", "--json", "-l", "python", "-c",
				      "import os; os.write(1, b'\\xff\\n'); raise SystemExit(3)", NULL);
	json_t *object = json_loads(r->out, 0, NULL);

	assert_status(r, 3);
	assert_non_null(object);
	assert_int_equal(json_integer_value(json_object_get(object, "exit_code")), 3);
	assert_string_equal(json_string_value(json_object_get(object, "stdout")), "\xef\xbf\xbd\n");
	assert_string_equal(json_string_value(json_object_get(object, "stdout_base64")), "/wo=");
	assert_string_equal(r->err, "");
	json_decref(object);
}

static void json_lines_keep_characters_whole(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "exec", "--json", "--stream", "--", "sh",
				      "-c", "printf '\\303'; sleep 0.1; printf '\\251\\377'", NULL);
	char text[64] = "", *rest = r->out, *line;
	bool result = false;

	assert_status(r, 0);
	while ((line = strsep(&rest, "\n")) != NULL && line[0] != '\0') {
		json_t *object = json_loads(line, 0, NULL);
		const char *part = json_string_value(json_object_get(object, "text"));

		assert_non_null(object);
		if (part != NULL)
			strncat(text, part, sizeof(text) - strlen(text) - 1);
		result = json_object_get(object, "exit_code") != NULL;
		json_decref(object);
	}
	assert_string_equal(text, "\xc3\xa9\xef\xbf\xbd");
	assert_true(result);
}

static void our_failure_is_json_too(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "run", "--json", "-l", "python",
				      "/nonexistent", NULL);
	json_t *object = json_loads(r->out, 0, NULL);

	assert_status(r, 2);
	assert_non_null(json_object_get(json_object_get(object, "error"), "message"));
	json_decref(object);
}

static void long_output_keeps_head_and_tail(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "exec", "--output-head", "2",
				      "--output-tail", "2", "--", "printf", "ab1234cd", NULL);

	assert_status(r, 0);
	assert_string_equal(r->out, "abcd");
	assert_contains(r->err, "stdout: 4 bytes left out");
}

static void stream_passes_everything_on(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "exec", "--stream", "--output-head", "2",
				      "--output-tail", "2", "--", "printf", "ab1234cd", NULL);

	assert_status(r, 0);
	assert_string_equal(r->out, "ab1234cd");
	assert_string_equal(r->err, "");
}

static void bytes_reach_a_file_unchanged(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "exec", "--", "printf",
				      "\\000\\377\\033]0;x\\007", NULL);

	assert_status(r, 0);
	assert_int_equal(r->out_len, 8);
	assert_memory_equal(r->out, "\0\377\033]0;x\007", 8);
}

static void a_terminal_gets_no_escapes_but_colors(void **state)
{
	const struct ran *r = program(*state, (struct call){.terminal = true}, "exec", "--", "printf",
				      "\\033]0;x\\007 \\033[31mred \\302\\233 \\303\\251 \\377", NULL);

	assert_string_equal(r->out, "^[]0;x^G \033[31mred \\xc2\\x9b \xc3\xa9 \\xff\033[0m");
	r = program(*state, (struct call){.terminal = true}, "exec", "--raw", "--", "printf",
		    "\\033]0;x\\007", NULL);
	assert_string_equal(r->out, "\033]0;x\007");
}

static void a_reader_that_is_gone_ends_the_run_quietly(void **state)
{
	const struct ran *r = program(*state, (struct call){.no_reader = true}, "exec", "--stream", "--",
				      "yes", NULL);

	assert_status(r, 141);
	assert_string_equal(r->err, "");
	assert_status(program(*state, (struct call){.no_reader = true}, "exec", "--", "echo", NULL), 141);
}

static void a_closed_stdin_is_an_empty_one(void **state)
{
	const struct ran *r = program(*state, (struct call){.no_stdin = true}, "exec", "--", "cat", NULL);

	assert_status(r, 0);
	assert_string_equal(r->out, "");
}

static void dry_run_prints_a_plan_and_runs_nothing(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "exec", "--dry-run", "--", "echo",
				      "it ran", NULL);

	assert_status(r, 0);
	assert_null(strstr(r->out, "it ran"));
	assert_true(r->out_len > 0);
}

static void variables_and_mounts_arrive(void **state)
{
	struct cli_state *t = *state;
	const char *env[] = {"OURS=1", NULL};
	const struct ran *r = program(t, (struct call){.env = env}, "exec", "-e", "A=b c", "-e", "OURS",
				      "--", "sh", "-c", "echo $A $OURS $HOME", NULL);

	assert_string_equal(r->out, is_fake() ? r->out : "b c 1 /home/sandbox\n");
	if (is_fake())
		return;
	write_file(t, "seen", "yes", 3);
	r = program(t, (struct call){0}, "exec", "-v", ".:/data", "--", "sh", "-c",
		    "cat /data/seen; echo x >/data/new", NULL);
	assert_string_equal(r->out, "yes");
	assert_true(r->status != 0);
}

/* Job control, because a shell without it starts its children deaf to SIGINT. */
static const char signals_script[] =
	"set -m; exec 3< <(exec llm-sandbox exec --stream -- sh -c "
	"'trap \"echo caught\" INT; echo ready; while :; do sleep 1; done'); pid=$!; "
	"read -r -u 3 line; kill -\"$1\" $pid; "
	"if [ \"$1\" = INT ]; then read -r -u 3 line; echo $line; kill -INT $pid; fi; "
	"wait $pid; echo $?";

static void one_interrupt_is_passed_on_and_two_kill(void **state)
{
	char *argv[] = {(char *)"bash", (char *)"-c", (char *)signals_script, (char *)"bash",
			(char *)"INT", NULL};

	assert_string_equal(command(*state, (struct call){0}, argv)->out, "caught\n130\n");
}

static void a_term_signal_kills(void **state)
{
	char *argv[] = {(char *)"bash", (char *)"-c", (char *)signals_script, (char *)"bash",
			(char *)"TERM", NULL};

	assert_string_equal(command(*state, (struct call){0}, argv)->out, "143\n");
}

int run_group(void)
{
	const struct CMUnitTest tests[] = {
		cli_test(prints_what_the_program_printed),
		cli_test(ends_as_the_program_ended),
		cli_test(a_timeout_is_124_and_says_so),
		cli_test(the_nearest_time_limit_counts),
		cli_test(reads_code_from_stdin_or_a_file),
		cli_test(json_is_one_object_and_nothing_else),
		cli_test(json_lines_keep_characters_whole),
		cli_test(our_failure_is_json_too),
		cli_test(long_output_keeps_head_and_tail),
		cli_test(stream_passes_everything_on),
		cli_test(bytes_reach_a_file_unchanged),
		cli_test(a_terminal_gets_no_escapes_but_colors),
		cli_test(a_reader_that_is_gone_ends_the_run_quietly),
		cli_test(a_closed_stdin_is_an_empty_one),
		cli_test(dry_run_prints_a_plan_and_runs_nothing),
		cli_test(variables_and_mounts_arrive),
		cli_test(one_interrupt_is_passed_on_and_two_kill),
		cli_test(a_term_signal_kills),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
