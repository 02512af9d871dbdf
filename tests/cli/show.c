/* SPDX-License-Identifier: MIT */
/* `run --show`: pictures in terminals, each of which this test plays. */
#include "cli/picture_code.h"
#include "cli/talk.h"

#include <stdio.h>
#include <unistd.h>

#define KITTY	"\033_Gi=31;OK\033\\\033[?62;c"
#define SIXEL	"\033[?62;4;22c"
#define NEITHER "\033[?62;22c"
#define RED	PICTURE_CODE "png('red.png', 30, 20)\n"

/* What a terminal that answers so, or is silent, gets of a run. */
static char *shown(struct cli_state *t, const char *answer, const char *variable, const char *code)
{
	const char *argv[] = {"llm-sandbox", "run", "--show", "-l", "python", "-c", code, NULL};
	const char *env[] = {variable, NULL};
	struct talk talk;

	talk_begin(t, &talk, argv, env);
	talk.answer = answer;
	assert_int_equal(talk_end(&talk, NULL), 0);
	return talk.seen;
}

static bool has_program(const char *name)
{
	char path[512];
	const char *tested = getenv("SBX_TEST_PROGRAM");

	snprintf(path, sizeof(path), "%s", tested && tested[0] ? tested : CLI_TEST_PROGRAM);
	snprintf(strrchr(path, '/'), 64, "/%s", name);
	return access(path, X_OK) == 0;
}

static void kitty_gets_a_png_in_base64(void **state)
{
	char *seen = shown(*state, KITTY, NULL, RED);

	assert_contains(seen, "red.png");
	assert_contains(seen, "\033_Ga=T,f=100,q=2,m=0;iVBORw0KGgo");
	assert_null(strstr(seen, "IHDR"));
	free(seen);
}

static void a_large_picture_comes_in_pieces(void **state)
{
	char *seen = shown(*state, KITTY, NULL,
			   PICTURE_CODE "import os\n"
					"png('noise.png', 1200, 9, zlib.compress(b''.join(b'\\0' + "
					"os.urandom(3600) for _ in range(9)), 0))\n");

	/* It is wider than the terminal, and made to fit. */
	assert_contains(seen, "\033_Ga=T,f=100,q=2,c=100,m=1;");
	assert_contains(seen, "\033\\\033_Gm=1;");
	assert_contains(seen, "\033\\\033_Gm=0;");
	free(seen);
}

static void iterm_gets_it_without_being_asked(void **state)
{
	char *seen = shown(*state, NULL, "TERM_PROGRAM=iTerm.app", RED);

	assert_contains(seen, "\033]1337;File=inline=1;size=");
	assert_contains(seen, ":iVBORw0KGgo");
	assert_null(strstr(seen, "\033[c"));
	free(seen);
}

static void a_terminal_with_sixels_gets_them(void **state)
{
	char *seen;

	if (!has_program("llm-sandbox-sixel")) {
		print_message("built without libsixel\n");
		skip();
	}
	seen = shown(*state, SIXEL, NULL, RED);
	assert_contains(seen, "\033Pq\"1;1;30;20");
	/* Red and blue, in the percent that sixels have. */
	assert_contains(seen, "#0;2;97;0;0");
	assert_contains(seen, "#1;2;0;0;97");
	free(seen);
}

static void a_broken_picture_is_no_sixels(void **state)
{
	char *seen;

	if (!has_program("llm-sandbox-sixel")) {
		print_message("built without libsixel\n");
		skip();
	}
	seen = shown(*state, SIXEL, NULL,
		     PICTURE_CODE "png('bad.png', 3000, 2000, b'\\x78\\x9c\\x01')\n");
	assert_contains(seen, "'bad.png' is not shown: it cannot be decoded");
	assert_null(strstr(seen, "\033P"));
	free(seen);
}

static void a_picture_that_claims_to_be_huge_reaches_no_terminal(void **state)
{
	char *seen =
		shown(*state, KITTY, NULL, PICTURE_CODE "png('huge.png', 100000, 100000, b'')\n");

	assert_contains(seen, "'huge.png' is not shown: it is no PNG or JPEG");
	assert_null(strstr(seen, "a=T"));
	free(seen);
}

static void a_terminal_without_pictures_says_so_once(void **state)
{
	char *seen = shown(*state, NEITHER, NULL, RED "png('blue.png', 30, 20)\n"), *found;

	found = strstr(seen, "this terminal says that it has neither kitty's graphics");
	assert_non_null(found);
	assert_null(strstr(found + 1, "this terminal says"));
	assert_contains(seen, "red.png");
	assert_contains(seen, "blue.png");
	free(seen);
}

static void a_silent_terminal_is_not_waited_for(void **state)
{
	char *seen = shown(*state, NULL, NULL, RED);

	assert_contains(seen, "--artifacts FOLDER saves them");
	free(seen);
}

static void what_is_no_picture_is_named(void **state)
{
	char *seen = shown(*state, KITTY, NULL, "open('t.csv', 'w').write('a,b\\n')\n");

	assert_contains(seen, "t.csv  text/csv");
	assert_null(strstr(seen, "\033_G"));
	free(seen);
}

static void no_terminal_gets_no_picture_and_is_not_asked(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "run", "--show", "-l", "python",
				      "-c", RED "print('out')\n", NULL);

	assert_status(r, 0);
	assert_string_equal(r->out, "out\n");
	assert_string_equal(r->err, "");
}

int show_group(void)
{
	const struct CMUnitTest tests[] = {
		cli_test(kitty_gets_a_png_in_base64),
		cli_test(a_large_picture_comes_in_pieces),
		cli_test(iterm_gets_it_without_being_asked),
		cli_test(a_terminal_with_sixels_gets_them),
		cli_test(a_broken_picture_is_no_sixels),
		cli_test(a_picture_that_claims_to_be_huge_reaches_no_terminal),
		cli_test(a_terminal_without_pictures_says_so_once),
		cli_test(a_silent_terminal_is_not_waited_for),
		cli_test(what_is_no_picture_is_named),
		cli_test(no_terminal_gets_no_picture_and_is_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
