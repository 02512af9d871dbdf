/* SPDX-License-Identifier: MIT */
/* What a program in each language may rely on: its output, its exit code, its errors. */
#include "support/sandbox.h"

#include <string.h>

static void expect(const struct sbx_result *r, int exit_code, const char *out)
{
	if (r->exit_code != exit_code)
		fail_msg("exit code %d and not %d, stderr: %.600s", r->exit_code, exit_code,
			 r->errout.data);
	assert_string_equal(r->out.data, out);
	assert_int_equal(r->reason, SBX_EXITED);
	assert_int_equal(r->phase, SBX_PHASE_RUN);
}

static void expect_hello(void **state, const char *language, const char *code)
{
	const struct sbx_result *r = test_run(*state, language, code);

	expect(r, 0, "hello\n");
	assert_string_equal(r->errout.data, "");
	assert_int_equal(r->signal, 0);
}

/* Cases 1 to 7. */

static void python_says_hello(void **state)
{
	expect_hello(state, "python", "print('hello')\n");
}

static void javascript_says_hello(void **state)
{
	expect_hello(state, "javascript", "console.log('hello')\n");
}

static void java_says_hello(void **state)
{
	expect_hello(state, "java",
		     "class Main {\n"
		     "  public static void main(String[] args) {\n"
		     "    System.out.println(\"hello\");\n"
		     "  }\n"
		     "}\n");
}

static void cpp_says_hello(void **state)
{
	expect_hello(state, "cpp",
		     "#include <iostream>\n"
		     "int main() { std::cout << \"hello\\n\"; }\n");
}

static void go_says_hello(void **state)
{
	expect_hello(state, "go",
		     "package main\n\nimport \"fmt\"\n\n"
		     "func main() { fmt.Println(\"hello\") }\n");
}

static void ruby_says_hello(void **state)
{
	expect_hello(state, "ruby", "puts 'hello'\n");
}

static void r_says_hello(void **state)
{
	expect_hello(state, "r", "cat(\"hello\\n\")\n");
}

/* Cases 8 to 11. */

static void python_exit_code_is_kept(void **state)
{
	expect(test_run(*state, "python", "import sys\nsys.exit(3)\n"), 3, "");
}

static void javascript_exit_code_is_kept(void **state)
{
	expect(test_run(*state, "javascript", "process.exit(4)\n"), 4, "");
}

static void r_exit_code_is_kept(void **state)
{
	expect(test_run(*state, "r", "quit(status = 3)\n"), 3, "");
}

static void cpp_exit_code_is_kept(void **state)
{
	expect(test_run(*state, "cpp", "int main() { return 7; }\n"), 7, "");
}

static void go_exit_code_is_kept(void **state)
{
	expect(test_run(*state, "go", "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(5) }\n"),
	       5, "");
}

static void ruby_exit_code_is_kept(void **state)
{
	expect(test_run(*state, "ruby", "exit 6\n"), 6, "");
}

static void java_exit_code_is_kept(void **state)
{
	expect(test_run(*state, "java",
			"public class Late {\n"
			"  public static void main(String[] a) { System.exit(8); }\n"
			"}\n"),
	       8, "");
}

/* Case 12. */
static void a_syntax_error_is_named_on_stderr(void **state)
{
	const struct sbx_result *r = test_run(*state, "python", "def f(:\n");

	expect(r, 1, "");
	assert_non_null(strstr(r->errout.data, "SyntaxError"));
}

/* Case 13. */
static void a_compile_error_never_runs_an_older_program(void **state)
{
	const struct sbx_result *good =
		test_run(*state, "cpp", "#include <cstdio>\nint main() { puts(\"old\"); }\n");
	const struct sbx_result *bad =
		test_run(*state, "cpp", "#include <cstdio>\nint main() { int x = \"text\"; }\n");

	expect(good, 0, "old\n");
	assert_int_not_equal(bad->exit_code, 0);
	assert_int_equal(bad->phase, SBX_PHASE_COMPILE);
	assert_string_equal(bad->out.data, "");
	assert_non_null(strstr(bad->errout.data, "error:"));
}

/* Case 14. */
static void an_exception_keeps_the_output_and_the_line_number(void **state)
{
	const struct sbx_result *r =
		test_run(*state, "python", "print('before')\n\nraise ValueError('boom')\n");

	expect(r, 1, "before\n");
	assert_non_null(strstr(r->errout.data, "line 3"));
	assert_non_null(strstr(r->errout.data, "ValueError: boom"));
}

/* Case 15. */
static void each_stream_has_its_own_field(void **state)
{
	const struct sbx_result *r = test_run(*state, "python",
					      "import sys\n"
					      "print('to out')\n"
					      "print('to err', file=sys.stderr)\n");

	expect(r, 0, "to out\n");
	assert_string_equal(r->errout.data, "to err\n");
}

/* Case 16. */
static void text_is_utf8(void **state)
{
	expect(test_run(*state, "python", "print('häß €  猫 🐈')\n"), 0, "häß €  猫 🐈\n");
	expect(test_run(*state, "ruby", "puts 'häß €'.upcase\n"), 0, "HÄSS €\n");
	expect(test_run(*state, "r", "cat(nchar('häß'), '\\n')\n"), 0, "3 \n");
	expect(test_run(*state, "javascript", "console.log('häß €'.length)\n"), 0, "5\n");
}

static void a_program_gets_its_arguments(void **state)
{
	struct test_sandbox *t = *state;
	static const char *const args[] = {"one", "two words", "", "$HOME", NULL};
	const char *code = "import sys\nprint(sys.argv[1:])\n";
	struct sbx_run run = {
		.language = "python", .code = code, .code_len = strlen(code), .args = args};
	struct sbx_result *r = NULL;
	struct sbx_error err;

	assert_int_equal(sbx_session_run(test_session(t), &run, &r, &err), 0);
	assert_string_equal(r->out.data, "['one', 'two words', '', '$HOME']\n");
	sbx_result_free(r);
}

static void a_language_is_found_by_its_alias_in_any_case(void **state)
{
	expect(test_run(*state, "Python", "print(1)\n"), 0, "1\n");
	expect(test_run(*state, "JS", "console.log(2)\n"), 0, "2\n");
}

static void an_unknown_language_is_an_error(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_run run = {.language = "cobol", .code = "x", .code_len = 1};
	struct sbx_result *r = NULL;
	struct sbx_error err;

	assert_true(sbx_session_run(test_session(t), &run, &r, &err) < 0);
	assert_int_equal(err.code, SBX_E_NOT_FOUND);
	assert_non_null(strstr(err.msg, "cobol"));
	assert_null(r);
}

static void empty_code_and_nul_bytes_are_errors(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_run empty = {.language = "python", .code = "", .code_len = 0};
	struct sbx_run nul = {.language = "python", .code = "a\0b", .code_len = 3};
	struct sbx_result *r = NULL;
	struct sbx_error err;

	assert_true(sbx_session_run(test_session(t), &empty, &r, &err) < 0);
	assert_int_equal(err.code, SBX_E_INVALID);
	assert_true(sbx_session_run(test_session(t), &nul, &r, &err) < 0);
	assert_int_equal(err.code, SBX_E_INVALID);
	expect(test_run(t, "python", "print('still here')\n"), 0, "still here\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sandbox_test(python_says_hello),
		sandbox_test(javascript_says_hello),
		sandbox_test(java_says_hello),
		sandbox_test(cpp_says_hello),
		sandbox_test(go_says_hello),
		sandbox_test(ruby_says_hello),
		sandbox_test(r_says_hello),
		sandbox_test(python_exit_code_is_kept),
		sandbox_test(javascript_exit_code_is_kept),
		sandbox_test(r_exit_code_is_kept),
		sandbox_test(cpp_exit_code_is_kept),
		sandbox_test(go_exit_code_is_kept),
		sandbox_test(ruby_exit_code_is_kept),
		sandbox_test(java_exit_code_is_kept),
		sandbox_test(a_syntax_error_is_named_on_stderr),
		sandbox_test(a_compile_error_never_runs_an_older_program),
		sandbox_test(an_exception_keeps_the_output_and_the_line_number),
		sandbox_test(each_stream_has_its_own_field),
		sandbox_test(text_is_utf8),
		sandbox_test(a_program_gets_its_arguments),
		sandbox_test(a_language_is_found_by_its_alias_in_any_case),
		sandbox_test(an_unknown_language_is_an_error),
		sandbox_test(empty_code_and_nul_bytes_are_errors),
	};

	return cmocka_run_group_tests_name("languages", tests, NULL, NULL);
}
