/* SPDX-License-Identifier: MIT */
/* `--lib` and `lib`, as a user meets them, with repositories of the tests' own. */
#include "cli/talk.h"
#include "libraries/repository.h"

#include <jansson.h>
#include <stdio.h>

static const char *const *environment(void)
{
	static char cache[256], index[256], cap[64];
	static const char *list[] = {cache, index, cap, NULL};

	snprintf(cache, sizeof(cache), "XDG_CACHE_HOME=%s", repository_path("cache"));
	snprintf(index, sizeof(index), "PIP_INDEX_URL=http://%s/simple/", repository_address());
	snprintf(cap, sizeof(cap), "LLM_SANDBOX_LIBRARY_CACHE=1G");
	return list;
}

#define CALL ((struct call){.env = environment()})

static void a_run_names_its_libraries(void **state)
{
	const struct ran *r = program(*state, CALL, "run", "--lib", "sbx-good>=1", "-L", "sbx-other",
				      "-l", "python", "-c",
				      "import sbx_good, sbx_other; print(sbx_good.version)", NULL);

	assert_status(r, 0);
	assert_string_equal(r->out, "2.0\n");
	assert_string_equal(r->err, "");
}

static void a_repl_has_its_libraries_from_the_first_cell(void **state)
{
	struct call call = CALL;
	const struct ran *r;

	call.in = "import sbx_good\n# %%\nsbx_good.version\n";
	r = program(*state, call, "repl", "--lib", "sbx-good>=1", "-l", "python", NULL);
	assert_status(r, 0);
	assert_string_equal(r->out, "'2.0'\n");
}

static void a_repl_installs_what_it_is_told_to(void **state)
{
	const char *argv[] = {"llm-sandbox", "repl", NULL};
	struct talk talk;

	talk_begin(*state, &talk, argv, environment());
	talk_expect(&talk, "python> ");
	talk_type(&talk, "x = 41\r");
	talk_expect(&talk, "python> ");
	talk_type(&talk, ":lib sbx-none\r");
	talk_expect(&talk, "No matching distribution found for sbx-none");
	talk_expect(&talk, "python> ");
	talk_type(&talk, ":lib sbx-good>=1\r");
	talk_expect(&talk, "The next cell has it.");
	talk_expect(&talk, "python> ");
	talk_type(&talk, "import sbx_good; (x, sbx_good.version)\r");
	talk_expect(&talk, "(41, '2.0')");
	assert_int_equal(talk_end(&talk, "\004"), 0);
	talk_done(&talk);
}

static void a_library_that_is_not_there_is_an_error_with_the_reason(void **state)
{
	const struct ran *r = program(*state, CALL, "run", "--lib", "sbx-none", "-l", "python", "-c",
				      "print(1)", NULL);

	assert_status(r, 125);
	assert_string_equal(r->out, "");
	assert_contains(r->err, "No matching distribution found for sbx-none");
	r = program(*state, CALL, "run", "--lib", "x", "-l", "java", "-c", "class Main {}", NULL);
	assert_status(r, 2);
	assert_contains(r->err, "group:artifact:version");
}

static void libraries_can_stand_in_the_configuration(void **state)
{
	static const char text[] = "libraries:\n  - sbx-good==1.0\nlibrary-cache: 2G\n";
	const char *path = write_file(*state, "c.yaml", text, strlen(text));
	const struct ran *r = program(*state, CALL, "run", "--config", path, "-l", "python", "-c",
				      "import sbx_good; print(sbx_good.version)", NULL);

	assert_status(r, 0);
	assert_string_equal(r->out, "1.0\n");
}

static void offline_installs_nothing(void **state)
{
	const struct ran *r = program(*state, CALL, "run", "--offline", "--lib", "sbx-paths", "-l",
				      "python", "-c", "print(1)", NULL);

	assert_status(r, 125);
	assert_contains(r->err, "offline");
}

static void sets_are_added_listed_verified_and_removed(void **state)
{
	const struct ran *r = program(*state, CALL, "lib", "add", "-l", "python", "sbx-needs", "--json", NULL);
	json_t *set = json_loads(r->out, 0, NULL), *list;
	const char *id = json_string_value(json_object_get(set, "id"));
	char line[64];

	assert_status(r, 0);
	assert_string_equal(r->err, "");
	assert_non_null(id);
	assert_int_equal(json_array_size(json_object_get(set, "packages")), 2);

	r = program(*state, CALL, "lib", "list", NULL);
	assert_contains(r->out, id);
	assert_contains(r->out, "sbx-needs");
	r = program(*state, CALL, "lib", "list", "--json", NULL);
	list = json_loads(r->out, 0, NULL);
	assert_true(json_array_size(list) >= 1);
	json_decref(list);

	assert_contains(program(*state, CALL, "lib", "lock", id, NULL)->out, "sbx-other 1.0 ");
	snprintf(line, sizeof(line), "%s is as it was made\n", id);
	assert_string_equal(program(*state, CALL, "lib", "verify", id, NULL)->out, line);
	assert_status(program(*state, CALL, "lib", "verify", NULL), 0);
	assert_status(program(*state, CALL, "lib", "remove", id, NULL), 0);
	r = program(*state, CALL, "lib", "remove", id, NULL);
	assert_status(r, 125);
	assert_contains(r->err, id);
	json_decref(set);
}

static void a_request_that_makes_no_sense_is_refused(void **state)
{
	assert_status(program(*state, CALL, "lib", "add", "sbx-good", NULL), 2);
	assert_status(program(*state, CALL, "lib", "add", "-l", "python", NULL), 2);
	assert_status(program(*state, CALL, "lib", "add", "-l", "pyhton", "sbx-good", NULL), 2);
	assert_status(program(*state, CALL, "lib", "add", "-l", "python", "http://x/y", NULL), 2);
	assert_status(program(*state, CALL, "lib", "remove", NULL), 2);
	assert_status(program(*state, CALL, "lib", "lock", "../x", NULL), 125);
}

static void on_a_terminal_the_installer_is_heard(void **state)
{
	struct call call = CALL;
	const struct ran *r;

	call.terminal = true;
	r = program(*state, call, "lib", "add", "-l", "python", "sbx-paths", NULL);
	assert_status(r, 0);
	assert_contains(r->out, "Successfully installed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cli_test(a_run_names_its_libraries),
		cli_test(a_repl_has_its_libraries_from_the_first_cell),
		cli_test(a_repl_installs_what_it_is_told_to),
		cli_test(a_library_that_is_not_there_is_an_error_with_the_reason),
		cli_test(libraries_can_stand_in_the_configuration),
		cli_test(offline_installs_nothing),
		cli_test(sets_are_added_listed_verified_and_removed),
		cli_test(a_request_that_makes_no_sense_is_refused),
		cli_test(on_a_terminal_the_installer_is_heard),
	};

	return cmocka_run_group_tests_name("lib", tests, repository_setup, repository_teardown);
}
