/* SPDX-License-Identifier: MIT */
/* Live kernels: what stays between cells, how they end, and what they survive. */
#include "support/census.h"
#include "support/sandbox.h"

#include "base/clock.h"

#include <llmsandbox/kernel.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOP_MS 1000 /* what an endless cell gets */

/* ---- cells ---- */

static int try_cell(struct test_sandbox *t, const char *language, const char *kernel,
		    const char *code, struct sbx_result **ret, struct sbx_error *err)
{
	struct sbx_run run = {
		.language = language,
		.code = code,
		.code_len = strlen(code),
		.kernel = kernel,
		.io = t->io,
	};

	return sbx_session_run(test_session(t), &run, ret, err);
}

static const struct sbx_result *cell_in(struct test_sandbox *t, const char *language,
					const char *kernel, const char *code)
{
	struct sbx_result *r = NULL;
	struct sbx_error err;

	if (try_cell(t, language, kernel, code, &r, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(t->result_count < TEST_RESULTS_MAX);
	t->results[t->result_count++] = r;
	return r;
}

static const struct sbx_result *cell(struct test_sandbox *t, const char *code)
{
	return cell_in(t, "python", "main", code);
}

static void says(const struct sbx_result *r, const char *text)
{
	if (strcmp(r->out.data, text) != 0)
		fail_msg("'%s' is not '%s'; stderr: %s; %s", r->out.data, text, r->errout.data,
			 r->message);
}

/* ---- state ---- */

static void a_variable_stays_between_cells(void **state)
{
	const struct sbx_result *r;

	cell(*state, "x = 41");
	r = cell(*state, "print(x + 1)");
	says(r, "42\n");
	assert_int_equal(r->exit_code, 0);
	assert_int_equal(r->reason, SBX_EXITED);
	assert_null(r->value);
	assert_false(r->kernel_ended);
}

static void the_value_of_the_last_expression_is_shown(void **state)
{
	const struct sbx_result *r = cell(*state, "print('before')\n6 * 7");

	says(r, "before\n42\n");
	assert_string_equal(r->value, "42");
}

static void an_exception_leaves_the_state_alone(void **state)
{
	const struct sbx_result *r;

	cell(*state, "x = 41");
	says(cell(*state, "x"), "41\n");
	r = cell(*state, "1/0");
	assert_int_equal(r->exit_code, 1);
	assert_non_null(strstr(r->errout.data, "ZeroDivisionError"));
	says(cell(*state, "x"), "41\n");
}

static void a_cell_whose_time_is_over_is_interrupted_and_the_state_survives(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	cell(t, "x = 41");
	t->io.timeout_ms = LOOP_MS;
	r = cell(t, "print('begun', flush=True)\nwhile True: pass");
	says(r, "begun\n");
	assert_int_equal(r->reason, SBX_TIMEOUT);
	assert_int_equal(r->exit_code, 130);
	assert_false(r->kernel_ended);
	assert_non_null(strstr(r->message, "state is kept"));
	says(cell(t, "x"), "41\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sandbox_test(a_variable_stays_between_cells),
		sandbox_test(the_value_of_the_last_expression_is_shown),
		sandbox_test(an_exception_leaves_the_state_alone),
		sandbox_test(a_cell_whose_time_is_over_is_interrupted_and_the_state_survives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
