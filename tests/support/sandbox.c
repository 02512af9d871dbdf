/* SPDX-License-Identifier: MIT */
#include "support/sandbox.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 32

const char *test_backend(void)
{
	const char *name = getenv("SBX_TEST_BACKEND");

	return name != NULL && name[0] != '\0' ? name : "native";
}

bool test_is_native(void)
{
	return strcmp(test_backend(), "native") == 0;
}

bool test_isolates(void)
{
	return strcmp(test_backend(), "fake") != 0;
}

bool test_has_image(void)
{
	return test_isolates() && !test_is_native();
}

int test_use_backend(struct sbx_spec *spec, struct sbx_error *err)
{
	const char *image = getenv("SBX_TEST_IMAGE");
	const char *root = getenv("SBX_TEST_ROOT");
	int r = sbx_spec_set_backend(spec, test_backend(), err);

	if (r == 0 && test_is_native() && root != NULL)
		return sbx_spec_set_image(spec, root, err);
	if (r < 0 || !test_has_image())
		return r;
	return sbx_spec_set_image(spec, image != NULL && image[0] != '\0' ? image : TEST_IMAGE, err);
}

int test_sandbox_setup(void **state)
{
	struct test_sandbox *t = calloc(1, sizeof(*t));
	struct sbx_error err;

	if (t == NULL)
		return -1;
	*state = t;
	if (sbx_spec_new(&t->spec, &err) < 0 ||
	    test_use_backend(t->spec, &err) < 0) {
		print_error("cannot set the sandbox up: %s\n", err.msg);
		return -1;
	}
	return 0;
}

int test_sandbox_teardown(void **state)
{
	struct test_sandbox *t = *state;

	for (size_t i = 0; i < t->result_count; i++)
		sbx_result_free(t->results[i]);
	sbx_session_close(t->session);
	sbx_spec_free(t->spec);
	free(t);
	return 0;
}

void test_set_limit(struct test_sandbox *t, enum sbx_limit limit, uint64_t value)
{
	struct sbx_error err;

	if (sbx_spec_set_limit(t->spec, limit, value, &err) < 0)
		fail_msg("cannot set a limit: %s", err.msg);
}

struct sbx_session *test_session(struct test_sandbox *t)
{
	struct sbx_error err;

	if (t->session == NULL && sbx_session_open(t->spec, &t->session, &err) < 0)
		fail_msg("cannot open a sandbox: %s", err.msg);
	return t->session;
}

static const struct sbx_result *keep(struct test_sandbox *t, struct sbx_result *result)
{
	assert_true(t->result_count < TEST_RESULTS_MAX);
	t->results[t->result_count++] = result;
	return result;
}

const struct sbx_result *test_run(struct test_sandbox *t, const char *language, const char *code)
{
	struct sbx_run run = {
		.language = language, .code = code, .code_len = strlen(code), .io = t->io};
	struct sbx_result *result = NULL;
	struct sbx_error err;

	if (sbx_session_run(test_session(t), &run, &result, &err) < 0)
		fail_msg("cannot run %s: %s", language, err.msg);
	return keep(t, result);
}

const struct sbx_result *test_command(struct test_sandbox *t, const struct sbx_command *command)
{
	struct sbx_result *result = NULL;
	struct sbx_error err;

	if (sbx_session_exec(test_session(t), command, &result, &err) < 0)
		fail_msg("cannot run '%s': %s", command->argv[0], err.msg);
	return keep(t, result);
}

const struct sbx_result *test_exec(struct test_sandbox *t, const char *first, ...)
{
	const char *argv[WORDS_MAX + 1] = {first};
	struct sbx_command command = {.argv = argv, .io = t->io};
	va_list words;

	va_start(words, first);
	for (size_t i = 1; i < WORDS_MAX; i++) {
		argv[i] = va_arg(words, const char *);
		if (argv[i] == NULL)
			break;
	}
	va_end(words);
	return test_command(t, &command);
}

const struct sbx_result *test_shell(struct test_sandbox *t, const char *script)
{
	return test_exec(t, "/bin/sh", "-c", script, NULL);
}

bool test_is_enforced(const struct sbx_result *r, const char *name)
{
	for (size_t i = 0; i < r->isolation_count; i++) {
		if (strcmp(r->isolation[i].name, name) == 0)
			return r->isolation[i].status == SBX_ENFORCED;
	}
	return false;
}

void test_skip_promised(const char *reason)
{
	const char *strict = getenv("SBX_TEST_STRICT");

	if (strict != NULL && strcmp(strict, "1") == 0)
		fail_msg("%s", reason);
	print_message("# skipped: %s\n", reason);
	skip();
}

static void need(bool there, const char *reason)
{
	if (there)
		return;
	print_message("# skipped: %s\n", reason);
	skip();
}

void test_need_native(const char *reason)
{
	need(test_is_native(), reason);
}

void test_need_isolation(const char *reason)
{
	need(test_isolates(), reason);
}

unsigned long test_size(unsigned long quick, unsigned long standard, unsigned long full)
{
	const char *size = getenv("SBX_TEST_SIZE");

	if (size != NULL && strcmp(size, "quick") == 0)
		return quick;
	return size != NULL && strcmp(size, "full") == 0 ? full : standard;
}
