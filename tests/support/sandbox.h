/* SPDX-License-Identifier: MIT */
/*
 * For tests of the public API: one sandbox per test, opened when it is first used, and
 * everything that came out of it freed at the test's end.
 *
 *	static void python_says_hello(void **state)
 *	{
 *		const struct sbx_result *r = test_run(*state, "python", "print('hello')");
 *
 *		assert_string_equal(r->out.data, "hello\n");
 *	}
 *
 *	const struct CMUnitTest tests[] = {sandbox_test(python_says_hello)};
 *	return cmocka_run_group_tests(tests, NULL, NULL);
 *
 * The environment chooses: SBX_TEST_BACKEND (native), SBX_TEST_IMAGE (what containers are made of,
 * TEST_IMAGE), SBX_TEST_ROOT (a folder that is the native backend's image), SBX_TEST_STRICT=1 (a promised capability that is missing fails instead of being
 * skipped), SBX_TEST_SIZE (quick, default, full).
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <llmsandbox/session.h>

#define TEST_RESULTS_MAX 64
#define TEST_IMAGE	 "localhost/box:all" /* with every tool chain; made by tests/support/engines */

#define sandbox_test(function) \
	cmocka_unit_test_setup_teardown(function, test_sandbox_setup, test_sandbox_teardown)

#define KIB 1024ull
#define MIB (1024ull * KIB)

/* A test's state. Change spec before the first run; fill io for the next ones. */
struct test_sandbox {
	struct sbx_spec *spec;
	struct sbx_session *session; /* NULL until the first use */
	struct sbx_io io;
	struct sbx_result *results[TEST_RESULTS_MAX];
	size_t result_count;
};

int test_sandbox_setup(void **state);
int test_sandbox_teardown(void **state);

/*
 * The name of the backend under test; whether it is ours, without an engine; whether it isolates at
 * all; and whether programs are those of an image.
 */
const char *test_backend(void);
bool test_is_native(void);
bool test_isolates(void);
bool test_has_image(void);

/* Have a spec made for the backend under test. */
int test_use_backend(struct sbx_spec *spec, struct sbx_error *err);

void test_set_limit(struct test_sandbox *t, enum sbx_limit limit, uint64_t value);

/* The session, opened now unless it is; fails the test when that fails. */
struct sbx_session *test_session(struct test_sandbox *t);

/* Run code, or a command given as its words and NULL. The result lives until the test's end. */
const struct sbx_result *test_run(struct test_sandbox *t, const char *language, const char *code);
const struct sbx_result *test_exec(struct test_sandbox *t, const char *first, ...)
	__attribute__((sentinel));
const struct sbx_result *test_command(struct test_sandbox *t, const struct sbx_command *command);
const struct sbx_result *test_shell(struct test_sandbox *t, const char *script);

/* Whether the isolation report has this line, as enforced. */
bool test_is_enforced(const struct sbx_result *r, const char *name);

/* End this test: as failed when SBX_TEST_STRICT=1, else as skipped with the reason. */
void test_skip_promised(const char *reason);

/* End this test as skipped, with the reason, on any other backend. */
void test_need_native(const char *reason);

/* End this test as skipped, with the reason, where the backend isolates nothing. */
void test_need_isolation(const char *reason);

/* SBX_TEST_SIZE: one of three numbers. */
unsigned long test_size(unsigned long quick, unsigned long standard, unsigned long full);
