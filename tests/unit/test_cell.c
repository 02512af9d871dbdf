/* SPDX-License-Identifier: MIT */
/* Whether typed lines are a whole cell: cases as data, each as it is typed, line by line. */
#include "cli/cell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* How a cell stands when its last line has come. */
static const struct {
	const char *language, *text;
	enum cell_state state;
} list[] = {
	{"python", "x = 1\n", CELL_WHOLE},
	{"python", "x = (1,\n", CELL_OPEN},
	{"python", "x = (1,\n2)\n", CELL_WHOLE},
	{"python", "def f():\n", CELL_BLOCK},
	{"python", "def f():\n    return 1\n", CELL_BLOCK},
	{"python", "def f():\n    return 1\n\n", CELL_WHOLE},
	{"python", "def f():\n    return 1\n   \t\n", CELL_WHOLE},
	{"python", "if x: y\n", CELL_WHOLE},
	{"python", "@decorated\n", CELL_BLOCK},
	{"python", "x = '''\n", CELL_STRING},
	{"python", "x = '''\n\n\n", CELL_STRING},
	{"python", "x = '''\n:('''\n", CELL_WHOLE},
	{"python", "x = '('\n", CELL_WHOLE},
	{"python", "x = 'it\\'s ('\n", CELL_WHOLE},
	{"python", "x = 1 # (\n", CELL_WHOLE},
	{"python", "for x in y: # each\n", CELL_BLOCK},
	{"python", "x = 'unfinished\n", CELL_WHOLE},
	{"python", "x = \\\n", CELL_OPEN},
	{"python", "x = {'a':\n1}\n", CELL_WHOLE},
	{"python", "%timeit f()\n", CELL_WHOLE},
	{"python", "x = )\n", CELL_WHOLE},
	{"javascript", "const f = () => {\n", CELL_OPEN},
	{"javascript", "const f = () => {\n}\n", CELL_WHOLE},
	{"javascript", "`${a}\n", CELL_STRING},
	{"javascript", "`${a}\n`\n", CELL_WHOLE},
	{"javascript", "/* (\n", CELL_STRING},
	{"javascript", "/* ( */ 1 // (\n", CELL_WHOLE},
	{"javascript", "x =\n", CELL_OPEN},
	{"javascript", "x++\n", CELL_WHOLE},
	{"javascript", "'// no comment'\n", CELL_WHOLE},
	{"ruby", "def f\n", CELL_OPEN},
	{"ruby", "def f\n1\nend\n", CELL_WHOLE},
	{"ruby", "x = 1 if y\n", CELL_WHOLE},
	{"ruby", "x = if y\n", CELL_OPEN},
	{"ruby", "[1].each do |x|\n", CELL_OPEN},
	{"ruby", "[1].each do |x|\nputs x\nend\n", CELL_WHOLE},
	{"ruby", "while x do\ny\nend\n", CELL_WHOLE},
	{"ruby", "x.class\n", CELL_WHOLE},
	{"ruby", "f(class: 1, end: 2)\n", CELL_WHOLE},
	{"ruby", "\"begin\"\n", CELL_WHOLE},
	{"r", "f <- function(x) {\n", CELL_OPEN},
	{"r", "f <- function(x) {\nx }\n", CELL_WHOLE},
	{"r", "ggplot(d) +\n", CELL_OPEN},
	{"r", "d |>\n", CELL_OPEN},
	{"r", "x <- 'two\n", CELL_STRING},
	{"r", "x <- 'two\nlines'\n", CELL_WHOLE},
	{"java", "int f() {\n", CELL_OPEN},
	{"java", "int f() {\nreturn 1; }\n", CELL_WHOLE},
	{"java", "var s = \"\"\"\n", CELL_STRING},
};

static void a_cell_is_whole_when_nothing_is_open(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		enum cell_state is =
			cell_look(list[i].language, list[i].text, strlen(list[i].text));

		if (is != list[i].state)
			fail_msg("%s is %d and not %d: %s", list[i].language, is, list[i].state,
				 list[i].text);
	}
}

/* Nothing that can be typed is read beyond its end. */
static void any_bytes_are_looked_at(void **state)
{
	static const char pieces[] = "\"'`()[]{}:\\/*#@\n \tend do if =.,";
	const char *const languages[] = {"python", "javascript", "ruby", "r", "java", "none"};

	(void)state;
	srand(1);
	for (int n = 0; n < 20000; n++) {
		size_t len = (size_t)rand() % 24;
		char *text = malloc(len + 1); /* so that a sanitizer sees its end */

		assert_non_null(text);
		for (size_t i = 0; i < len; i++)
			text[i] = pieces[(size_t)rand() % (sizeof(pieces) - 1)];
		cell_look(languages[n % 6], text, len);
		free(text);
	}
}

static void a_line_between_cells_is_known(void **state)
{
	(void)state;
	assert_true(cell_is_border("# %%\n"));
	assert_true(cell_is_border("#%% title\n"));
	assert_true(cell_is_border("// %%\n"));
	assert_false(cell_is_border("%% \n"));
	assert_false(cell_is_border("# 5 %%\n"));
	assert_false(cell_is_border("/ %%\n"));
	assert_false(cell_is_border(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cell_is_whole_when_nothing_is_open),
		cmocka_unit_test(any_bytes_are_looked_at),
		cmocka_unit_test(a_line_between_cells_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
