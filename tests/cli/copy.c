/* SPDX-License-Identifier: MIT */
/* `cp`, `ls` and `cat` of sessions. */
#include "cli/session.h"

#include <jansson.h>
#include <stdio.h>

static void a_tree_goes_in_and_out(void **state)
{
	start_sessions(*state, "a");
	assert_script(
		*state,
		"mkdir -p t/sub/empty; echo one > t/a; printf '\\0\\377' > t/sub/b; : > t/none; "
		"chmod 755 t/a\n"
		"llm-sandbox cp t a:copy && llm-sandbox cp a:copy back && diff -r t back && "
		"test -x back/a && echo same\n"
		"llm-sandbox cp t a:copy && llm-sandbox ls a:copy/t\n"
		"llm-sandbox cp t/. a:. && llm-sandbox exec -S a -- cat a\n"
		"mkdir into && llm-sandbox cp a:copy/a into && cat into/a\n",
		"same\na\nnone\nsub/\none\none\n");
}

static void a_file_is_copied_as_cp_does(void **state)
{
	start_sessions(*state, "a");
	assert_script(*state,
		      "echo x > f; llm-sandbox cp f a: && llm-sandbox cat a:f\n"
		      "llm-sandbox cp f a:deep/er/g && llm-sandbox cat a:deep/er/g\n"
		      "llm-sandbox cp f a:deep/ && llm-sandbox cat a:deep/f\n"
		      "llm-sandbox cp -r a:f other && cat other\n"
		      "llm-sandbox cp a:/etc/passwd . && test -s passwd && echo absolute\n",
		      "x\nx\nx\nx\nabsolute\n");
}

static void streams_are_files_too(void **state)
{
	start_sessions(*state, "a");
	assert_script(*state,
		      "head -c 5000000 /dev/urandom > f; llm-sandbox cp - a:f < f && "
		      "llm-sandbox cp a:f - | cmp - f && llm-sandbox cat a:f a:f | wc -c\n"
		      ": | llm-sandbox cp - a:empty && llm-sandbox cat a:empty | wc -c\n"
		      "llm-sandbox cp - a: < f; echo $?; ls -d ${TMPDIR:-/tmp}/llm-sandbox-*/stdin "
		      "2>/dev/null\n",
		      "10000000\n0\n2\n");
}

static void an_interrupted_stream_leaves_nothing(void **state)
{
	start_sessions(*state, "a");
	assert_script(*state,
		      "set -m; export TMPDIR=$PWD/tmp; mkdir tmp; mkfifo p\n"
		      "llm-sandbox cp - a:f < p & pid=$!; exec 4> p; echo part >&4\n"
		      "until test -s tmp/*/stdin; do read -t 0.02 < <(:); done\n"
		      "kill -INT $pid; wait $pid; echo $?; ls tmp; llm-sandbox ls a\n",
		      "130\n");
}

static void what_leads_out_does_not_come_out(void **state)
{
	const struct ran *r;

	start_sessions(*state, "a");
	assert_status(shell(*state,
			    "llm-sandbox exec -S a -- sh -c 'mkdir t; cd t; echo x > good; "
			    "ln -s /etc/passwd link; ln -s / root; mkfifo fifo; chmod 4755 good'"),
		      0);
	r = shell(*state, "llm-sandbox cp a:t out");
	assert_status(r, 0);
	assert_contains(r->err, "left out 3");
	assert_script(*state, "ls out; stat -c %a out/good", "good\n755\n");
	/* Nor does anything go through a link that is here or there. */
	assert_script(
		*state,
		"echo mine > mine; ln -s mine link; llm-sandbox cp a:t/good link; cat mine; "
		"test -L link || echo replaced\n"
		"llm-sandbox exec -S a -- ln -s /tmp/elsewhere into\n"
		"llm-sandbox cp mine a:into; llm-sandbox exec -S a -- ls /tmp/elsewhere 2>&1 | "
		"grep -c 'No such'\n",
		"mine\nreplaced\n1\n");
}

static void a_copy_that_cannot_be_says_why(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r;

	start_sessions(t, "a");
	r = program(t, (struct call){0}, "cp", "missing", "a:x", NULL);
	assert_status(r, 2);
	assert_contains(r->err, "cannot open 'missing': No such file");
	r = program(t, (struct call){0}, "cp", "a:missing", "x", NULL);
	assert_status(r, 125);
	assert_contains(r->err, "'missing': No such file");
	r = program(t, (struct call){0}, "cp", "a:/etc/passwd", "no/such/folder", NULL);
	assert_status(r, 2);
	assert_contains(r->err, "cannot open the folder 'no/such/'");
	r = program(t, (struct call){0}, "cp", "/etc/passwd", "a:../x", NULL);
	assert_true(r->status != 0);
	r = program(t, (struct call){0}, "cp", "x", "y", NULL);
	assert_status(r, 2);
	assert_contains(r->err, "one side must be NAME:PATH");
	assert_status(program(t, (struct call){0}, "cp", "a:x", "a:y", NULL), 2);
	assert_status(program(t, (struct call){0}, "cp", "x", NULL), 2);
	assert_status(program(t, (struct call){0}, "cat", NULL), 2);
	assert_status(program(t, (struct call){0}, "cat", "a", NULL), 2);
	r = program(t, (struct call){0}, "cat", "a:missing", NULL);
	assert_status(r, 125);
	assert_string_equal(r->out, "");
	r = program(t, (struct call){0}, "ls", "b:x", NULL);
	assert_status(r, 125);
	assert_contains(r->err, "there is no session 'b'");
	/* What fits no disk that the sandbox has. */
	assert_status(
		shell(t,
		      "llm-sandbox session start small --disk 1M; head -c 3000000 /dev/zero > big"),
		0);
	r = program(t, (struct call){0}, "cp", "big", "small:/tmp/big", NULL);
	if (!is_fake())
		assert_contains(r->err, "the disk limit of the sandbox is reached");
}

static void a_list_has_every_name(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r;
	json_t *list;

	start_sessions(t, "a");
	assert_status(shell(t, "llm-sandbox exec -S a -- sh -c 'mkdir -p d/e; echo 12345 > d/e/f; "
			       "ln -s x d/link; : > \"$1\"' x $'d/\\033[31m\\n\\377'"),
		      0);
	r = program(t, (struct call){0}, "ls", "a:d", "--json", "-R", NULL);
	list = json_loads(r->out, 0, NULL);
	assert_int_equal(json_array_size(list), 4);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(list, 0), "path_base64")),
		"G1szMW0K/w==");
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 2), "path")),
			    "e/f");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 2), "size")), 6);
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 3), "kind")),
			    "link");
	json_decref(list);
	r = program(t, (struct call){0}, "ls", "a:d", NULL);
	assert_string_equal(r->out, "\033[31m\n\xff\ne/\nlink\n");
	r = program(t, (struct call){.terminal = true}, "ls", "a:d", NULL);
	assert_string_equal(r->out, "^[[31m^J\\xff\r\ne/\r\nlink\r\n");
	r = program(t, (struct call){0}, "ls", "-l", "a:d/e/f", NULL);
	assert_contains(r->out, "            6 ");
	assert_contains(r->out, " d/e/f\n");
	r = program(t, (struct call){0}, "ls", "a", NULL);
	assert_string_equal(r->out, "d/\n");
}

static void a_terminal_gets_no_escapes_from_a_file(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r;

	start_sessions(t, "a");
	write_file(t, "f", "\033]0;x\007", 6);
	assert_status(program(t, (struct call){0}, "cp", "f", "a:f", NULL), 0);
	r = program(t, (struct call){.terminal = true}, "cat", "a:f", NULL);
	assert_string_equal(r->out, "^[]0;x^G");
	r = program(t, (struct call){.terminal = true}, "cat", "--raw", "a:f", NULL);
	assert_string_equal(r->out, "\033]0;x\007");
	r = program(t, (struct call){.terminal = true}, "cp", "a:f", "-", NULL);
	assert_string_equal(r->out, "^[]0;x^G");
	assert_status(program(t, (struct call){.no_reader = true}, "cat", "a:f", NULL), 141);
}

static void a_terminal_sees_how_far_a_copy_is(void **state)
{
	struct cli_state *t = *state;
	const struct ran *r;

	start_sessions(t, "a");
	assert_status(shell(t, "mkdir many; cd many; head -c 20000000 /dev/zero > big"), 0);
	r = program(t, (struct call){.terminal = true}, "cp", "many", "a:/tmp/many", NULL);
	assert_status(r, 0);
	/* Whatever was shown is wiped away again. */
	assert_string_equal(r->out_len > 4 ? r->out + r->out_len - 4 : "\r\033[K", "\r\033[K");
	r = program(t, (struct call){0}, "cp", "many", "a:/tmp/many", NULL);
	assert_string_equal(r->err, "");
}

int copy_group(void)
{
	const struct CMUnitTest tests[] = {
		session_test(a_tree_goes_in_and_out),
		session_test(a_file_is_copied_as_cp_does),
		session_test(streams_are_files_too),
		session_test(an_interrupted_stream_leaves_nothing),
		session_test(what_leads_out_does_not_come_out),
		session_test(a_copy_that_cannot_be_says_why),
		session_test(a_list_has_every_name),
		session_test(a_terminal_gets_no_escapes_from_a_file),
		session_test(a_terminal_sees_how_far_a_copy_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
