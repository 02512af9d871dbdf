/* SPDX-License-Identifier: MIT */
/* Configuration: where it comes from, what wins, what is refused. */
#include "cli/driver.h"

#include <stdio.h>
#include <sys/stat.h>

static void write_user_config(struct cli_state *t, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/config", t->folder);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/config/llm-sandbox", t->folder);
	mkdir(path, 0755);
	write_file(t, "config/llm-sandbox/config.yaml", text, strlen(text));
}

/* The variable X of the sandbox, with this environment and these flags. */
static const char *x_of(struct cli_state *t, const char *variable, const char *flag,
			const char *value)
{
	const char *env[] = {variable, NULL};
	const struct ran *r = program(t, (struct call){.env = env}, "exec", flag ? flag : "-e",
				      value ? value : "Y=1", "--", "sh", "-c", "printf $X", NULL);

	assert_status(r, 0);
	return r->out;
}

static void later_sources_win(void **state)
{
	struct cli_state *t = *state;

	write_file(t, "other.yaml", "env: {X: other}\n", 16);
	write_user_config(t, "# ours\nenv:\n  X: file\n");
	assert_string_equal(x_of(t, "Z=1", NULL, NULL), "file");
	assert_string_equal(x_of(t, "LLM_SANDBOX_ENV=A=b\nX=variable", NULL, NULL), "variable");
	assert_string_equal(x_of(t, "LLM_SANDBOX_ENV=X=variable", "-e", "X=flag"), "flag");
	assert_string_equal(x_of(t, "Z=1", "--config", "other.yaml"), "other");
}

static void limits_come_from_everywhere(void **state)
{
	struct cli_state *t = *state;
	const char *env[] = {"LLM_SANDBOX_OUTPUT_HEAD=3", NULL};
	const struct ran *r;

	write_user_config(t, "output-head: 2\noutput-tail: none\nworkdir: /tmp\n");
	r = program(t, (struct call){0}, "exec", "--", "printf", "12345", NULL);
	assert_string_equal(r->out, "12");
	r = program(t, (struct call){.env = env}, "exec", "--", "printf", "12345", NULL);
	assert_string_equal(r->out, "123");
	r = program(t, (struct call){.env = env}, "exec", "--output-head=4", "--", "printf", "12345",
		    NULL);
	assert_string_equal(r->out, "1234");
}

struct bad_config {
	const char *text;
	const char *sentence;
};

static void bad_files_name_file_line_and_key(void **state)
{
	static const struct bad_config bad[] = {
		{"\nmemroy: 1G\n", "bad.yaml:2: memroy: there is no such setting; did you mean 'memory'?"},
		{"memory: 1\n", "bad.yaml:1: memory: '1' is out of range"},
		{"memory: [1]\n", "bad.yaml:1: memory: must be a single value"},
		{"a: [\n", "is no YAML"},
		{"- a\n", "must be a mapping"},
		{"json: maybe\n", "bad.yaml:1: json: 'maybe' is neither true nor false"},
		{"env:\n  A: [b]\n", "bad.yaml:2: env: must map names to texts"},
		{"mounts:\n  - x\n", "bad.yaml:2: mounts: 'x' is no mount"},
		{"mounts:\n  - /nonexistent:/data\n", "bad.yaml:2: mounts: cannot mount '/nonexistent'"},
		{"code: print(1)\n", "bad.yaml:1: code: there is no such setting"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct ran *r;

		write_file(*state, "bad.yaml", bad[i].text, strlen(bad[i].text));
		r = program(*state, (struct call){0}, "exec", "--config", "bad.yaml", "--", "true", NULL);
		assert_status(r, 2);
		assert_contains(r->err, bad[i].sentence);
	}
}

static void a_misspelt_variable_is_an_error(void **state)
{
	const char *env[] = {"LLM_SANDBOX_MEMROY=1G", NULL};
	const struct ran *r = program(*state, (struct call){.env = env}, "exec", "--", "true", NULL);

	assert_status(r, 2);
	assert_contains(r->err, "LLM_SANDBOX_MEMROY: there is no such setting; did you mean 'memory'?");
}

static void a_huge_file_is_refused(void **state)
{
	size_t len = 1u << 20;
	char *text = malloc(len);
	const struct ran *r;

	assert_non_null(text);
	memset(text, '#', len);
	write_file(*state, "huge.yaml", text, len);
	free(text);
	r = program(*state, (struct call){0}, "exec", "--config", "huge.yaml", "--", "true", NULL);
	assert_status(r, 2);
	assert_contains(r->err, "is larger than 64 KiB");
}

static void a_file_that_others_can_write_is_refused(void **state)
{
	struct cli_state *t = *state;
	char path[128];
	const struct ran *r;

	write_user_config(t, "memory: 1G\n");
	snprintf(path, sizeof(path), "%s/config/llm-sandbox/config.yaml", t->folder);
	assert_int_equal(chmod(path, 0666), 0);
	r = program(t, (struct call){0}, "exec", "--", "true", NULL);
	assert_status(r, 2);
	assert_contains(r->err, "is not read");
}

int config_group(void)
{
	const struct CMUnitTest tests[] = {
		cli_test(later_sources_win),
		cli_test(limits_come_from_everywhere),
		cli_test(bad_files_name_file_line_and_key),
		cli_test(a_misspelt_variable_is_an_error),
		cli_test(a_huge_file_is_refused),
		cli_test(a_file_that_others_can_write_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
