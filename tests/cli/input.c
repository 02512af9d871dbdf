/* SPDX-License-Identifier: MIT */
/* Bad input: one clear sentence, the right status, nothing on stdout. */
#include "cli/driver.h"

struct bad {
	int status;
	const char *args[7];
	const char *sentence; /* part of it */
};

static const struct bad list[] = {
	{2, {NULL}, "Usage:"},
	{2, {"runn"}, "no command 'runn'; did you mean 'run'?"},
	{2, {"run", "--memroy", "1G"}, "no option '--memroy'; did you mean '--memory'?"},
	{2, {"run", "--mem", "1G"}, "no option '--mem'; did you mean '--memory'?"},
	{2, {"run", "-Z"}, "no option '-Z'"},
	{2, {"run", "--memory"}, "--memory needs a value"},
	{2, {"run", "--json=1"}, "--json takes no value"},
	{2, {"version", "--memory", "1G"}, "'version' has no option '--memory'"},
	{2, {"run", "-l", "pythn", "-c", "1"}, "no language 'pythn'; did you mean 'python'?"},
	{2, {"run"}, "Use -l LANGUAGE (languages: python, java"},
	{2, {"run", "thing.xyz"}, "cannot tell the language of 'thing.xyz'"},
	{2, {"run", "missing.py"}, "cannot open 'missing.py': No such file"},
	{2, {"run", "-l", "python", "/"}, "cannot read '/'"},
	{2, {"run", "-l", "python", "-c", ""}, "empty"},
	{2, {"exec"}, "no command to run"},
	{2, {"exec", "--memory", "-1"}, "--memory: '-1' is no size"},
	{2, {"exec", "--memory", "1"}, "--memory: '1' is out of range; it goes from 8M to 1T"},
	{2, {"exec", "--memory", "99999999999999999999G"}, "--memory: '99999999999999999999G' is out"},
	{2, {"exec", "--memory", "12x"}, "--memory: '12x' is no size"},
	{2, {"exec", "--memory", "1e9"}, "is no size"},
	{2, {"exec", "--memory", "0x10M"}, "is no size"},
	{2, {"exec", "--memory", " 1G"}, "is no size"},
	{2, {"exec", "--memory", "none"}, "is no size"},
	{2, {"exec", "--timeout", "nan"}, "is no time"},
	{2, {"exec", "--timeout", "200h"}, "--timeout: '200h' is out of range"},
	{2, {"exec", "--timeout", "1y"}, "is no time"},
	{2, {"exec", "--processes", "1.5"}, "is no whole number"},
	{2, {"exec", "--cpus", "inf"}, "is no number"},
	{2, {"exec", "-e", "NOT_SET_HERE"}, "'NOT_SET_HERE' is not set"},
	{2, {"exec", "-e", "=x"}, "--env: "},
	{2, {"exec", "-v", "/tmp"}, "is no mount"},
	{2, {"exec", "-v", "/nonexistent:/data", "--", "true"}, "cannot mount '/nonexistent'"},
	{2, {"exec", "-v", "/tmp:/data/../etc", "--", "true"}, "cannot mount at '/data/../etc'"},
	{2, {"exec", "-v", "/tmp:/usr", "--", "true"}, "'/usr' belongs to the sandbox"},
	{2, {"exec", "-w", "/sandbox/../etc", "--", "true"}, "the work folder"},
	{2, {"exec", "-u", "root", "--", "true"}, "'root' is no user"},
	{2, {"exec", "-u", "70000", "--", "true"}, "0 to 65534"},
	{2, {"exec", "--backend", "magic", "--", "true"}, "no backend 'magic'"},
	{2, {"exec", "--config", "/nonexistent", "--", "true"}, "cannot open '/nonexistent'"},
	{2, {"help", "nothing"}, "no command 'nothing'"},
	{125, {"exec", "--", "no-such-program"}, "no-such-program"},
};

static void bad_requests_get_a_clear_sentence(void **state)
{
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		const char *const *a = list[i].args;
		const struct ran *r = program(*state, (struct call){0}, a[0], a[1], a[2], a[3], a[4],
					      a[5], a[6], NULL);

		assert_contains(r->err, list[i].sentence);
		assert_status(r, list[i].status);
		assert_string_equal(r->out, "");
	}
}

static void a_nul_byte_in_the_code_is_refused(void **state)
{
	struct call call = {.in = "print(1)\0", .in_len = 9};
	const struct ran *r = program(*state, call, "run", "-l", "python", NULL);

	assert_status(r, 2);
	assert_contains(r->err, "NUL byte at offset 8");
}

/* A comment of len bytes and a line that prints. */
static char *long_code(size_t len)
{
	char *code = malloc(len);
	static const char end[] = "\nprint('end')\n";

	assert_non_null(code);
	memset(code, '#', len);
	memcpy(code + len - sizeof(end), end, sizeof(end));
	return code;
}

static void ten_mebibytes_of_code_run(void **state)
{
	size_t len = 10u << 20;
	char *code = long_code(len);
	const struct ran *r;

	r = program(*state, (struct call){.in = code, .in_len = len - 1}, "run", "-l", "python", NULL);
	free(code);
	assert_status(r, 0);
	assert_string_equal(r->out, "end\n");
}

static void code_over_the_limit_is_refused(void **state)
{
	size_t len = (64u << 20) + 10;
	char *code = long_code(len);
	const struct ran *r;

	r = program(*state, (struct call){.in = code, .in_len = len - 1}, "run", "-l", "python", NULL);
	free(code);
	assert_status(r, 2);
	assert_contains(r->err, "larger than 64 MiB");
}

static void code_that_is_no_utf8_arrives_unchanged(void **state)
{
	struct call call = {.in = "# -*- coding: latin-1 -*-\nprint(ord('\xe9'))\n"};

	assert_string_equal(program(*state, call, "run", "-l", "python", NULL)->out, "233\n");
}

/* A single argument of that size the kernel refuses before we see it; see execve(2). */
static void a_mebibyte_of_arguments_arrives_whole(void **state)
{
	size_t len = 100u << 10;
	char *a = malloc(len + 1);
	const struct ran *r;

	assert_non_null(a);
	memset(a, 'x', len);
	a[len] = '\0';
	r = program(*state, (struct call){0}, "exec", "--", "sh", "-c", "echo $#; echo ${11}", "x",
		    a, a, a, a, a, a, a, a, a, a, a, NULL);
	free(a);
	assert_status(r, 0);
	assert_int_equal(strncmp(r->out, "11\n", 3), 0);
	assert_true(r->out_len > len);
}

static void a_hostile_name_cannot_steer_the_terminal(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "run", "\033]0;x\007.py", NULL);

	assert_status(r, 2);
	assert_null(strchr(r->err, '\033'));
	assert_null(strchr(r->err, '\007'));

	/* U+009B and the byte 9B do what ESC [ does. */
	r = program(*state, (struct call){0}, "run", "\xc2\x9b" "31m\x9b" "31m\xc3\xa9.py", NULL);
	assert_status(r, 2);
	assert_null(strchr(r->err, '\x9b'));
	assert_non_null(strstr(r->err, "\xc3\xa9.py"));
}

int input_group(void)
{
	const struct CMUnitTest tests[] = {
		cli_test(bad_requests_get_a_clear_sentence),
		cli_test(a_nul_byte_in_the_code_is_refused),
		cli_test(ten_mebibytes_of_code_run),
		cli_test(code_over_the_limit_is_refused),
		cli_test(code_that_is_no_utf8_arrives_unchanged),
		cli_test(a_mebibyte_of_arguments_arrives_whole),
		cli_test(a_hostile_name_cannot_steer_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
