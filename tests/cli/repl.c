/* SPDX-License-Identifier: MIT */
/* `repl`: typed in a terminal, and from stdin. */
#include "cli/picture_code.h"
#include "cli/talk.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void begin(struct cli_state *t, struct talk *talk, const char *language)
{
	const char *argv[] = {"llm-sandbox", "repl", "-l", language, NULL};
	char prompt[32];

	talk_begin(t, talk, argv, NULL);
	snprintf(prompt, sizeof(prompt), "\n%s> ", language);
	talk_expect(talk, prompt);
}

/* Type a line, and wait for this answer and the next prompt. */
static void ask(struct talk *talk, const char *line, const char *answer)
{
	talk_type(talk, line);
	talk_type(talk, "\r");
	talk_expect(talk, "\n");
	if (answer != NULL)
		talk_expect(talk, answer);
	talk_expect(talk, "> ");
}

static const struct ran *piped(struct cli_state *t, const char *in, const char *language)
{
	return program(t, (struct call){.in = in}, "repl", "-l", language, NULL);
}

/* ---- typed ---- */

static void state_is_kept_and_values_are_shown(void **state)
{
	struct talk talk;

	begin(*state, &talk, "python");
	ask(&talk, "x = 41", NULL);
	ask(&talk, "x + 1", "42\r\npython");
	ask(&talk, "1 / 0", "ZeroDivisionError");
	ask(&talk, "print('no line feed', end='')", "no line feed\r\npython");
	assert_int_equal(talk_end(&talk, "\004"), 0);
	talk_done(&talk);
}

static void a_block_goes_on_until_an_empty_line(void **state)
{
	struct talk talk;

	begin(*state, &talk, "python");
	ask(&talk, "def twice(n):", "......");
	ask(&talk, "    return n * 2", "......");
	ask(&talk, "", "python");
	ask(&talk, "twice(", "......");
	ask(&talk, "21)", "42\r\npython");
	assert_int_equal(talk_end(&talk, "\004"), 0);
	talk_done(&talk);
}

/* The kernel sends Ctrl-C to all of the terminal's processes: nothing of the sandbox is one. */
static void ctrl_c_interrupts_the_cell_and_the_state_survives(void **state)
{
	struct talk talk;

	begin(*state, &talk, "python");
	ask(&talk, "x = 41", NULL);
	talk_type(&talk, "print('begun'); \"\"\"\r");
	talk_expect(&talk, "......> ");
	talk_type(&talk, "\"\"\"; import time; time.sleep(1000)\r");
	talk_expect(&talk, "\r\nbegun\r\n");
	talk_type(&talk, "\003");
	talk_expect(&talk, "KeyboardInterrupt");
	talk_expect(&talk, "its variables are kept");
	talk_expect(&talk, "python> ");
	ask(&talk, "x + 1", "42\r\npython");
	assert_int_equal(talk_end(&talk, "\004"), 0);
	talk_done(&talk);
}

static void a_second_ctrl_c_ends_the_kernel_and_not_the_repl(void **state)
{
	struct talk talk;

	begin(*state, &talk, "python");
	ask(&talk, "x = 1; import time", NULL);
	ask(&talk, "while True:", "......");
	ask(&talk, "  try: print('beg' + 'un'); time.sleep(1000)", "......");
	ask(&talk, "  except BaseException: pass", "......");
	talk_type(&talk, "\r");
	talk_expect(&talk, "\r\nbegun\r\n");
	talk_type(&talk, "\003");
	talk_expect(&talk, "begun\r\n");
	talk_type(&talk, "\003");
	talk_expect(&talk, "its state is gone");
	talk_expect(&talk, "python> ");
	ask(&talk, "x", "NameError");
	assert_int_equal(talk_end(&talk, "\004"), 0);
	talk_done(&talk);
}

/* What hangs up takes the sandbox with it. */
static void a_terminal_that_goes_away_ends_it(void **state)
{
	struct talk talk;
	int status;

	begin(*state, &talk, "python");
	talk_type(&talk, "print('beg' + 'un'); import time; time.sleep(1000)\r");
	talk_expect(&talk, "\r\nbegun\r\n");
	close(talk.master);
	assert_int_equal(waitpid(talk.pid, &status, 0), talk.pid);
	assert_int_equal(WEXITSTATUS(status), 128 + SIGHUP);
	talk_done(&talk);
}

/* A terminal marks what is pasted; an empty line in it ends nothing. */
static void what_is_pasted_comes_as_a_whole(void **state)
{
	struct talk talk;

	begin(*state, &talk, "python");
	assert_contains(talk.seen, "\033[?2004h");
	ask(&talk, "\033[200~def f():\r    a = 40\r\r    return a + 1\r\033[201~", "......");
	ask(&talk, "", "python");
	ask(&talk, "\033[200~y = f()\ry +\033[201~ 1", "42\r\npython");
	ask(&talk, "'\033[200~\033]0;x\007\033[201~'", "\\x1b]0;x\\x07");
	ask(&talk, ":history", "'^[]0;x^G'\r\npython");
	assert_int_equal(talk_end(&talk, "\004"), 0);
	assert_contains(talk.seen, "\033[?2004l");
	assert_null(strstr(talk.seen, "\033]0;"));
	talk_done(&talk);
}

static void ctrl_c_forgets_a_line_that_is_typed(void **state)
{
	struct talk talk;

	begin(*state, &talk, "python");
	ask(&talk, "x = (1,", "......");
	talk_type(&talk, "2");
	talk_expect(&talk, "2");
	talk_type(&talk, "\003");
	talk_expect(&talk, "python> ");
	ask(&talk, "'x' in globals()", "False\r\npython");
	assert_int_equal(talk_end(&talk, "\004"), 0);
	talk_done(&talk);
}

static void lines_are_remembered_and_nobody_else_reads_them(void **state)
{
	struct cli_state *t = *state;
	struct talk talk;
	struct stat st;
	char path[256];

	begin(t, &talk, "python");
	ask(&talk, "first = 'one'", NULL);
	assert_int_equal(talk_end(&talk, "\004"), 0);
	talk_done(&talk);

	snprintf(path, sizeof(path), "%s/.local/state/llm-sandbox/repl-python.history", t->folder);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);

	begin(t, &talk, "python");
	talk_type(&talk, "\033[A");
	talk_expect(&talk, "first = 'one'");
	talk_type(&talk, "\r");
	talk_expect(&talk, "python> ");
	ask(&talk, "first", "'one'\r\npython");
	assert_int_equal(talk_end(&talk, "\004"), 0);
	talk_done(&talk);
}

static void what_a_cell_prints_cannot_steer_the_terminal(void **state)
{
	struct talk talk;
	const char *between;

	begin(*state, &talk, "python");
	talk_type(
		&talk,
		"print(chr(27) + ']52;c;eA==' + chr(7) + chr(27) + '[31mred' + chr(27) + '[c')\r");
	talk_expect(&talk, "\n");
	between = talk_until(&talk, "python> ");
	assert_contains(between, "^[]52;c;eA==^G\033[31mred^[[c");
	assert_int_equal(talk_end(&talk, "\004"), 0);
	talk_done(&talk);
}

static void what_a_cell_makes_is_saved_and_named(void **state)
{
	struct cli_state *t = *state;
	struct talk talk;
	const struct ran *r;

	begin(t, &talk, "python");
	assert_contains(talk.seen, "Plots and files go to llm-sandbox-");
	ask(&talk, "open('t.csv', 'w').write('a,b\\n')", "t.csv  text/csv");
	ask(&talk, ":artifacts", "1 in ");
	assert_int_equal(talk_end(&talk, "\004"), 0);
	talk_done(&talk);
	r = shell(t, "cat llm-sandbox-*/t.csv");
	assert_string_equal(r->out, "a,b\n");
}

static void its_commands_work(void **state)
{
	struct cli_state *t = *state;
	struct talk talk;

	begin(t, &talk, "python");
	ask(&talk, "x = 41", NULL);
	ask(&talk, ":help", ":restart");
	ask(&talk, ":hlep", "did you mean ':help'?");
	ask(&talk, ":save cells.py", "Saved.");
	ask(&talk, ":save cells.py", "cannot save 'cells.py': File exists");
	ask(&talk, ":reset", "forgotten");
	ask(&talk, "x", "NameError");
	ask(&talk, ":restart", "started anew");
	ask(&talk, ":history", "x = 41\r\n# %%\r\nx\r\npython");
	assert_int_equal(talk_end(&talk, ":quit\r"), 0);
	talk_done(&talk);
	assert_string_equal(shell(t, "cat cells.py")->out, "x = 41\n");
}

static void exit_leaves(void **state)
{
	struct talk talk;

	begin(*state, &talk, "python");
	assert_int_equal(talk_end(&talk, "exit()\r"), 0);
	talk_done(&talk);
}

static void a_cell_that_ends_the_kernel_is_told(void **state)
{
	struct talk talk;

	begin(*state, &talk, "python");
	ask(&talk, "x = 1; import os; os._exit(7)", "its state is gone");
	ask(&talk, "x", "NameError");
	assert_int_equal(talk_end(&talk, "\004"), 0);
	talk_done(&talk);
}

/* ---- from stdin ---- */

static void stdin_has_cells_apart_by_lines(void **state)
{
	const struct ran *r =
		piped(*state, "x = 6\n# %% second\nx * 7\n\n# %%\nprint('end')", "python");

	assert_status(r, 0);
	assert_string_equal(r->out, "42\nend\n");
	assert_string_equal(r->err, "");
}

static void the_first_cell_that_fails_ends_it(void **state)
{
	const struct ran *r =
		piped(*state, "print(1)\n# %%\nraise SystemExit(7)\n# %%\nprint(2)\n", "python");

	assert_status(r, 7);
	assert_string_equal(r->out, "1\n");
}

static void other_languages_have_a_repl_too(void **state)
{
	static const struct {
		const char *language, *probe, *in, *out;
	} list[] = {
		{"javascript", "node", "const a = 41\n// %%\nawait null; a + 1\n", "42\n"},
		{"ruby", "ruby", "a = 41\n# %%\na + 1\n", "42\n"},
		{"r", "R", "a <- 41\n# %%\na + 1\n", "42"},
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		char script[64];
		const struct ran *r;

		snprintf(script, sizeof(script), "command -v %s", list[i].probe);
		if (shell(*state, script)->status != 0) {
			print_message("no %s here\n", list[i].probe);
			continue;
		}
		r = piped(*state, list[i].in, list[i].language);
		assert_status(r, 0);
		assert_contains(r->out, list[i].out);
	}
}

static void what_has_no_kernel_is_told(void **state)
{
	const struct ran *r = piped(*state, "", "go");

	assert_status(r, 2);
	assert_contains(r->err, "Go has no kernel");
	r = piped(*state, "", "pyton");
	assert_status(r, 2);
	assert_contains(r->err, "did you mean 'python'?");
}

int repl_group(void)
{
	const struct CMUnitTest tests[] = {
		cli_test(state_is_kept_and_values_are_shown),
		cli_test(a_block_goes_on_until_an_empty_line),
		cli_test(ctrl_c_interrupts_the_cell_and_the_state_survives),
		cli_test(a_second_ctrl_c_ends_the_kernel_and_not_the_repl),
		cli_test(a_terminal_that_goes_away_ends_it),
		cli_test(what_is_pasted_comes_as_a_whole),
		cli_test(ctrl_c_forgets_a_line_that_is_typed),
		cli_test(lines_are_remembered_and_nobody_else_reads_them),
		cli_test(what_a_cell_prints_cannot_steer_the_terminal),
		cli_test(what_a_cell_makes_is_saved_and_named),
		cli_test(its_commands_work),
		cli_test(exit_leaves),
		cli_test(a_cell_that_ends_the_kernel_is_told),
		cli_test(stdin_has_cells_apart_by_lines),
		cli_test(the_first_cell_that_fails_ends_it),
		cli_test(other_languages_have_a_repl_too),
		cli_test(what_has_no_kernel_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
