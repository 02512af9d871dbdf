/* SPDX-License-Identifier: MIT */
/*
 * Library sets from the repositories that this machine's package managers are set up to use.
 * Where one cannot be reached the test is skipped and says so.
 */
#include "libraries/repository.h"
#include "support/sandbox.h"

#include <llmsandbox/library.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Ask the package manager itself, here and not in a sandbox, for something small. */
static void need(const char *manager, const char *command)
{
	char line[512], reason[128];

	snprintf(line, sizeof(line), "timeout 60 %s >/dev/null 2>&1", command);
	if (system(line) == 0)
		return;
	snprintf(reason, sizeof(reason), "%s is not here, or reaches no repository", manager);
	print_message("# skipped: %s\n", reason);
	skip();
}

static void run_prints(struct test_sandbox *t, const char *language, const char *const *libraries,
		       const char *code, const char *expected)
{
	struct sbx_run run = {
		.language = language, .code = code, .code_len = strlen(code), .libraries = libraries};
	struct sbx_result *result = NULL;
	struct sbx_error err;

	if (sbx_session_run(test_session(t), &run, &result, &err) < 0)
		fail_msg("cannot run %s: %s", language, err.msg);
	if (strcmp(result->out.data, expected) != 0)
		fail_msg("%s printed '%s' and '%s'", language, result->out.data, result->errout.data);
	sbx_result_free(result);
}

static void python_installs_wheels_versions_and_extras(void **state)
{
	need("pip", "pip3 download --no-deps -q -d \"$XDG_CACHE_HOME\" six==1.16.0");
	run_prints(*state, "python", LIST("six==1.16.0", "requests[socks]>=2"),
		   "import six, socks, requests; print(six.__version__)", "1.16.0\n");
}

static void javascript_installs_from_the_registry(void **state)
{
	need("npm", "npm view lodash version");
	run_prints(*state, "javascript", LIST("lodash@4.17.21"),
		   "console.log(require('lodash').VERSION)", "4.17.21\n");
}

static void go_installs_modules(void **state)
{
	need("go", "env GOFLAGS= GOPATH=\"$XDG_CACHE_HOME/go\" go list -m github.com/google/uuid@v1.6.0");
	run_prints(*state, "go", LIST("github.com/google/uuid@v1.6.0"),
		   "package main\nimport (\"fmt\"; \"github.com/google/uuid\")\n"
		   "func main() { fmt.Println(uuid.Nil.String()[:8]) }\n",
		   "00000000\n");
}

static void java_installs_coordinates_with_what_they_need(void **state)
{
	need("mvn", "mvn -q -B -Dmaven.repo.local=\"$XDG_CACHE_HOME/m2\" dependency:get "
		    "-Dartifact=org.slf4j:slf4j-api:2.0.9");
	run_prints(*state, "java", LIST("org.slf4j:slf4j-api:2.0.9"),
		   "class Main { public static void main(String[] a) throws Exception {"
		   " System.out.println(org.slf4j.LoggerFactory.class.getSimpleName()); } }",
		   "LoggerFactory\n");
}

static void cpp_installs_headers_and_links_their_libraries(void **state)
{
	need("apt-get", "apt-get download --print-uris libfmt-dev");
	run_prints(*state, "cpp", LIST("libfmt-dev"),
		   "#include <fmt/core.h>\nint main() { fmt::print(\"{}\\n\", 6 * 7); }\n", "42\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sandbox_test(python_installs_wheels_versions_and_extras),
		sandbox_test(javascript_installs_from_the_registry),
		sandbox_test(go_installs_modules),
		sandbox_test(java_installs_coordinates_with_what_they_need),
		sandbox_test(cpp_installs_headers_and_links_their_libraries),
	};

	return cmocka_run_group_tests_name("libraries, real", tests, repository_setup_real,
					   repository_teardown);
}
