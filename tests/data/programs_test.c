/* SPDX-License-Identifier: MIT */
/* Ordinary programs in seven languages, each in a fresh sandbox, end as is known of them. */
#include "data/programs.h"
#include "support/sandbox.h"

#include <llmsandbox/language.h>

#include <stdatomic.h>
#include <string.h>

static atomic_int wrong;

/* One line a finding, whole, whichever thread prints it. */
static void complain(const json_t *program, const char *what, int code, const char *text)
{
	atomic_fetch_add(&wrong, 1);
	print_message("# %s: %s (%d): %.300s\n", program_text(program, "id"), what, code, text);
}

static void compare(const json_t *program, const struct sbx_result *r)
{
	int expected = (int)json_integer_value(json_object_get(program, "expect_exit"));
	bool compile = strncmp(program_text(program, "note"), "compile:", 8) == 0;

	if (compile && (r->phase != SBX_PHASE_COMPILE || r->exit_code == 0))
		complain(program, "must fail to compile", r->exit_code, r->errout.data);
	else if (!compile && r->exit_code != expected)
		complain(program, "has another exit code", r->exit_code,
			 r->message[0] ? r->message : r->errout.data);
	else if (!compile && r->phase != SBX_PHASE_RUN)
		complain(program, "was not run", r->exit_code, r->errout.data);
}

static bool run_program(const json_t *program, void *userdata)
{
	const struct sbx_spec *spec = userdata;
	const char *code = program_text(program, "code");
	struct sbx_run run = {.language = program_text(program, "language"),
			      .code = code,
			      .code_len = strlen(code)};
	struct sbx_session *session = NULL;
	struct sbx_result *result = NULL;
	struct sbx_error err;

	if (sbx_session_open(spec, &session, &err) < 0 ||
	    sbx_session_run(session, &run, &result, &err) < 0)
		complain(program, "cannot be run", (int)err.code, err.msg);
	else
		compare(program, result);
	sbx_result_free(result);
	sbx_session_close(session);
	return atomic_load(&wrong) < 10;
}

static void run_language(void **state, const char *language)
{
	static struct programs programs;
	struct test_sandbox *t = *state;
	struct sbx_error err;

	if (!programs_load(&programs, "programs", language)) {
		print_message("# skipped: ../shared/data/programs is not here\n");
		skip();
	}
	if (sbx_language_prepare(language, &err) < 0)
		fail_msg("cannot prepare %s: %s", language, err.msg);
	test_set_limit(t, SBX_LIMIT_WALL_MS, 60000);
	atomic_store(&wrong, 0);
	programs_each(&programs, test_size(5, 1, 1), run_program, t->spec);
	programs_done(&programs);
	assert_int_equal(atomic_load(&wrong), 0);
}

#define PROGRAMS_OF(language)                                           \
	static void language##_programs_end_as_recorded(void **state) \
	{                                                               \
		run_language(state, #language);                         \
	}

PROGRAMS_OF(python)
PROGRAMS_OF(java)
PROGRAMS_OF(javascript)
PROGRAMS_OF(cpp)
PROGRAMS_OF(go)
PROGRAMS_OF(ruby)
PROGRAMS_OF(r)

int main(void)
{
	const struct CMUnitTest tests[] = {
		sandbox_test(python_programs_end_as_recorded),
		sandbox_test(java_programs_end_as_recorded),
		sandbox_test(javascript_programs_end_as_recorded),
		sandbox_test(cpp_programs_end_as_recorded),
		sandbox_test(go_programs_end_as_recorded),
		sandbox_test(ruby_programs_end_as_recorded),
		sandbox_test(r_programs_end_as_recorded),
	};

	return cmocka_run_group_tests_name("programs", tests, NULL, NULL);
}
