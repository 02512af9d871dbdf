/* SPDX-License-Identifier: MIT */
/* Installations leave nothing behind but their sets: neither when they end well nor when not. */
#include "libraries/repository.h"
#include "support/census.h"
#include "support/sandbox.h"

#include <llmsandbox/library.h>

#include <string.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void use_and_remove(const char *const *requirements)
{
	struct sbx_install how = {.language = "python", .requirements = requirements};
	struct sbx_run run = {.language = "python", .code = "import sbx_good", .code_len = 15,
			      .libraries = requirements};
	struct sbx_library_set *set = NULL;
	struct sbx_session *session = NULL;
	struct sbx_result *result = NULL;
	struct sbx_spec *spec = NULL;
	struct sbx_error err;

	if (sbx_library_add(&how, &set, &err) < 0 || sbx_spec_new(&spec, &err) < 0 ||
	    sbx_session_open(spec, &session, &err) < 0 ||
	    sbx_session_run(session, &run, &result, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(result->exit_code, 0);
	sbx_result_free(result);
	sbx_session_close(session);
	sbx_spec_free(spec);
	if (sbx_library_remove(set->id, &err) < 0)
		fail_msg("%s", err.msg);
	sbx_library_set_free(set);
}

static void fail_to_install(void)
{
	struct sbx_install how = {.language = "python", .requirements = LIST("sbx-escape")};
	struct sbx_error err;

	assert_int_equal(sbx_library_add(&how, NULL, &err), -SBX_E_DENIED);
}

static void installations_leave_nothing_behind(void **state)
{
	struct census before;

	(void)state;
	use_and_remove(LIST("sbx-good"));
	fail_to_install();
	census_take(&before);
	for (unsigned long i = 0; i < test_size(2, 5, 40); i++) {
		use_and_remove(LIST("sbx-good"));
		fail_to_install();
	}
	census_expect(&before, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(installations_leave_nothing_behind),
	};

	census_begin();
	return cmocka_run_group_tests_name("libraries, leaks", tests, repository_setup,
					   repository_teardown);
}
