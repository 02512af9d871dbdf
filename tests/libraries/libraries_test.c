/* SPDX-License-Identifier: MIT */
/* Library sets, with repositories of the tests' own. */
#include "libraries/repository.h"
#include "support/sandbox.h"

#include <llmsandbox/files.h>
#include <llmsandbox/library.h>
#include <llmsandbox/registry.h>

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- helpers ---- */

static struct sbx_spec *image_spec; /* of the backend under test, where sets are those of an image */

/* Whether a program is where sandboxes of this backend look. */
static bool has_tool(const char *path)
{
	struct sbx_session *session = NULL;
	struct sbx_file_info info = {0};
	struct sbx_error err;
	bool found;

	if (image_spec == NULL)
		return access(path, X_OK) == 0;
	if (sbx_session_open(image_spec, &session, &err) < 0)
		fail_msg("%s", err.msg);
	found = sbx_session_stat_file(session, path, &info, &err) == 0;
	sbx_session_close(session);
	free(info.path);
	return found;
}

/* For the tool chain that sandboxes of this backend have. */
static int library_add(struct sbx_install *how, struct sbx_library_set **ret, struct sbx_error *err)
{
	how->spec = image_spec;
	return sbx_library_add(how, ret, err);
}

static struct sbx_library_set *add(const char *language, const char *const *requirements)
{
	struct sbx_install how = {.language = language, .requirements = requirements};
	struct sbx_library_set *set = NULL;
	struct sbx_error err;

	if (library_add(&how, &set, &err) < 0)
		fail_msg("cannot install '%s': %s", requirements[0], err.msg);
	return set;
}

static enum sbx_code add_fails(const char *language, const char *const *requirements,
			       struct sbx_error *err)
{
	struct sbx_install how = {.language = language, .requirements = requirements};

	*err = (struct sbx_error){0};
	if (library_add(&how, NULL, err) == 0)
		fail_msg("'%s' was installed", requirements[0]);
	return err->code;
}

/* A run with libraries; the output must be what is expected. */
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

static void expect_contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' does not have '%s' in it", text, part);
}

static size_t count_entries(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		count += entry->d_name[0] != '.';
	if (dir != NULL)
		closedir(dir);
	return count;
}

static const char *store(const char *name)
{
	static const char folder[] = "cache/llm-sandbox/libraries/";
	char path[sizeof(folder) + 128];

	snprintf(path, sizeof(path), "%s%.120s", folder, name);
	return repository_path(path);
}

static void remove_all(void)
{
	struct sbx_library_set **list;
	struct sbx_error err;
	size_t count;

	assert_int_equal(sbx_library_list(&list, &count, &err), 0);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(sbx_library_remove(list[i]->id, &err), 0);
		sbx_library_set_free(list[i]);
	}
	free(list);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	chmod(path, 0644);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(path, 0444);
}

static bool found_in_tree(const char *path, const char *text)
{
	char command[600];

	snprintf(command, sizeof(command), "grep -rqaF -e '%s' '%s'", text, path);
	return system(command) == 0;
}

/* The first version of a package in a set, or "". */
static const char *version_of(const struct sbx_library_set *set, const char *name)
{
	for (size_t i = 0; i < set->package_count; i++) {
		if (strcmp(set->packages[i].name, name) == 0)
			return set->packages[i].version;
	}
	return "";
}

/* ---- installing and using ---- */

static void a_run_gets_the_libraries_it_names(void **state)
{
	run_prints(*state, "python", LIST("sbx-good==1.0"), "import sbx_good; print(sbx_good.version)",
		   "1.0\n");
}

static void versions_and_extras_are_what_was_asked_for(void **state)
{
	struct sbx_library_set *set = add("python", LIST("sbx-good[more]>=1,<3"));

	(void)state;
	assert_string_equal(set->language, "python");
	assert_string_equal(version_of(set, "sbx-good"), "2.0");
	assert_string_equal(version_of(set, "sbx-other"), "1.0");
	assert_true(set->bytes > 0);
	sbx_library_set_free(set);
}

static void the_lock_file_names_what_was_installed(void **state)
{
	struct sbx_library_set *set = add("python", LIST("sbx-needs"));
	struct sbx_error err;
	char *lock = NULL;

	(void)state;
	assert_int_equal(sbx_library_lock(set->id, &lock, &err), 0);
	expect_contains(lock, "sbx-needs 1.0 ");
	expect_contains(lock, "sbx-other 1.0 ");
	expect_contains(lock, "sha256:");
	free(lock);
	sbx_library_set_free(set);
}

static void libraries_of_a_session_add_up(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_install how = {.language = "python", .requirements = LIST("sbx-good==2.0")};
	struct sbx_library_set *set = NULL;
	struct sbx_error err;

	if (sbx_session_install(test_session(t), &how, &set, &err) < 0)
		fail_msg("%s", err.msg);
	sbx_library_set_free(set);
	run_prints(t, "python", NULL, "import sbx_good; print(sbx_good.version)", "2.0\n");
	run_prints(t, "python", LIST("sbx-other"),
		   "import sbx_good, sbx_other; print(sbx_good.version, sbx_other.there)", "2.0 True\n");
	run_prints(t, "python", LIST("sbx-good==2.0"), "import sbx_other; print(1)", "1\n");
}

static void a_command_finds_the_libraries_of_its_session(void **state)
{
	struct test_sandbox *t = *state;

	run_prints(t, "python", LIST("sbx-good==1.0"), "print(1)", "1\n");
	assert_string_equal(test_exec(t, "python3", "-c", "import sbx_good; print(sbx_good.version)", NULL)
				    ->out.data,
			    "1.0\n");
}

static void a_set_that_is_made_later_is_seen_in_a_session_that_is_open(void **state)
{
	struct test_sandbox *t = *state;
	size_t before;

	run_prints(t, "python", NULL, "print(1)", "1\n");
	sbx_library_set_free(add("python", LIST("sbx-other", "sbx-good==2.0")));
	before = repository_requests("/files/");
	run_prints(t, "python", LIST("sbx-good==2.0", "sbx-other"), "import sbx_other; print(2)", "2\n");
	assert_int_equal(repository_requests("/files/"), before);
}

static void javascript_requires_and_imports(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_run run = {
		.language = "javascript",
		.code = "import good from 'sbx-good'; import s from '@sbx/scoped'; console.log(good, s);",
		.code_len = 79,
		.file_name = "main.mjs",
		.libraries = LIST("sbx-good@^1", "@sbx/scoped"),
	};
	struct sbx_result *result = NULL;
	struct sbx_error err;

	run.code_len = strlen(run.code);
	run_prints(t, "javascript", run.libraries,
		   "console.log(require('sbx-good'), require('@sbx/scoped'))", "good scoped\n");
	assert_int_equal(sbx_session_run(test_session(t), &run, &result, &err), 0);
	assert_string_equal(result->out.data, "good scoped\n");
	sbx_result_free(result);
}

static void cell_prints(struct test_sandbox *t, const char *language,
			const char *const *libraries, const char *code, const char *expected)
{
	struct sbx_run run = {
		.language = language,
		.code = code,
		.code_len = strlen(code),
		.libraries = libraries,
		.kernel = language,
	};
	struct sbx_result *result = NULL;
	struct sbx_error err;

	if (sbx_session_run(test_session(t), &run, &result, &err) < 0)
		fail_msg("cannot run a cell of %s: %s", language, err.msg);
	if (strcmp(result->out.data, expected) != 0)
		fail_msg("a cell of %s printed '%s' and '%s'", language, result->out.data,
			 result->errout.data);
	sbx_result_free(result);
}

/* No time of the cell's has begun, and the kernel may be anything by now. */
static void a_kernel_that_takes_no_libraries_holds_no_cell_up(void **state)
{
	cell_prints(*state, "python", NULL,
		    "import builtins, time\nreal = builtins.__import__\n"
		    "def late(name, *more, **named):\n"
		    "    while name == 'sys': time.sleep(1)\n"
		    "    return real(name, *more, **named)\n"
		    "builtins.__import__ = late", "");
	cell_prints(*state, "python", LIST("sbx-good"), "builtins.__import__ = real\nprint('well')", "well\n");
	cell_prints(*state, "python", LIST("sbx-good"), "import sbx_good\nprint('there')", "there\n");
}

static void a_kernel_sees_libraries_from_before_its_start_and_later_ones(void **state)
{
	struct test_sandbox *t = *state;

	cell_prints(t, "python", LIST("sbx-good==1.0"), "import sbx_good; print(sbx_good.version)",
		    "1.0\n");
	cell_prints(t, "python", NULL, "x = 41", "");
	cell_prints(t, "python", LIST("sbx-other"), "import sbx_other; print(x, sbx_good.version)",
		    "41 1.0\n");
	cell_prints(t, "javascript", NULL, "const x = 41", "");
	/* The Node.js of the image that tests make cannot import in a cell. */
	cell_prints(t, "javascript", LIST("sbx-good@^1", "@sbx/scoped"),
		    test_has_image() ? "console.log(x, require('sbx-good'), 'scoped')"
				     : "console.log(x, require('sbx-good'), "
				       "(await import('@sbx/scoped')).default)",
		    "41 good scoped\n");
}

static void kernels_of_other_languages_see_later_libraries_too(void **state)
{
	struct test_sandbox *t = *state;

	if (!has_tool("/usr/bin/gem") || !has_tool("/usr/bin/Rscript"))
		test_skip_promised("gem or R is not installed");
	cell_prints(t, "ruby", NULL, "x = 41; nil", "");
	cell_prints(t, "ruby", LIST("sbx_good:1.0"), "require 'sbx_good'; puts x, SBX_GOOD; nil",
		    "41\n1.0\n");
	cell_prints(t, "r", NULL, "x <- 41", "");
	cell_prints(t, "r", LIST("sbxgood@1.0"), "library(sbxgood); cat(x, hello())", "41 good 1.0");
}


static void ruby_gets_gems_and_what_they_need(void **state)
{
	struct sbx_library_set *set;

	if (!has_tool("/usr/bin/gem"))
		test_skip_promised("gem is not installed");
	run_prints(*state, "ruby", LIST("sbx_good:1.0"), "require 'sbx_good'; puts SBX_GOOD, SBX_DEP",
		   "1.0\ntrue\n");
	set = add("ruby", LIST("sbx_good:~>2.0"));
	assert_string_equal(version_of(set, "sbx_good"), "2.0");
	assert_string_equal(version_of(set, "sbx_dep"), "0.1");
	sbx_library_set_free(set);
}

static void need_ruby_headers(void)
{
	if (test_has_image() ? !has_tool("/usr/bin/make")
			     : system("ls /usr/include/ruby*/ruby.h >/dev/null 2>&1") != 0)
		test_skip_promised("ruby-dev, or a compiler, is not installed");
}

/* The build of a gem is its code: it sees neither network nor configuration. */
static void a_native_gem_builds_with_nothing_to_reach_or_find(void **state)
{
	char text[256];

	test_need_isolation("nothing keeps a library in or out");
	need_ruby_headers();
	snprintf(text, sizeof(text), "---\n:sources:\n- http://reader:s3cret%%25word@%s/private/gems/\n",
		 repository_address());
	write_file(repository_path("home"), "private-gemrc", text);
	setenv("GEMRC", repository_path("home/private-gemrc"), 1);
	run_prints(*state, "ruby", LIST("sbx_native"),
		   "require 'sbx_native'; require 'sbx_found'; puts sbx_answer, SECRET, REACHED",
		   "42\nno\nno\n");
	assert_true(repository_requests("/private/gems/") > 0);
	assert_false(found_in_tree(repository_path("cache"), "s3cret"));
	repository_use();
}

static void r_gets_packages_their_needs_and_old_versions(void **state)
{
	if (!has_tool("/usr/bin/Rscript"))
		test_skip_promised("R is not installed");
	run_prints(*state, "r", LIST("sbxgood@1.0"), "library(sbxgood); cat(hello())", "good 1.0");
}

static void an_r_package_builds_with_nothing_to_reach_or_find(void **state)
{
	char url[256];

	test_need_isolation("nothing keeps a library in or out");
	if (!has_tool("/usr/bin/Rscript"))
		test_skip_promised("R is not installed");
	snprintf(url, sizeof(url), "http://reader:s3cret%%25word@%s/private/cran", repository_address());
	setenv("R_REPO", url, 1);
	run_prints(*state, "r", LIST("sbxsnoop"), "library(sbxsnoop); cat(secret, reached)", "no no");
	assert_true(repository_requests("/private/cran/") > 0);
	assert_false(found_in_tree(repository_path("cache"), "s3cret"));
	repository_use();
}

/* ---- failing ---- */

/* Case 42. */
static void a_missing_package_fails_the_run_with_the_installers_words(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_run run = {.language = "python", .code = "print(1)", .code_len = 8,
			      .libraries = LIST("sbx-there-is-none")};
	struct sbx_result *result = NULL;
	struct sbx_error err;

	assert_int_equal(sbx_session_run(test_session(t), &run, &result, &err), -SBX_E_DENIED);
	expect_contains(err.msg, "pip");
	expect_contains(err.msg, "No matching distribution found for sbx-there-is-none");
	/* The session goes on. */
	run_prints(t, "python", NULL, "print(2)", "2\n");
}

static void failures_of_other_managers_have_their_words_too(void **state)
{
	struct sbx_error err;

	(void)state;
	assert_int_equal(add_fails("javascript", LIST("sbx-there-is-none"), &err), SBX_E_DENIED);
	expect_contains(err.msg, "404");
	if (has_tool("/usr/bin/Rscript")) {
		assert_int_equal(add_fails("r", LIST("sbxnone"), &err), SBX_E_DENIED);
		expect_contains(err.msg, "there is no package sbxnone");
	}
	if (has_tool("/usr/bin/gem")) {
		assert_int_equal(add_fails("ruby", LIST("sbx_none"), &err), SBX_E_DENIED);
		expect_contains(err.msg, "sbx_none");
	}
}

/* Case 43: Java has libraries here, by their coordinates. */
static void an_ill_formed_name_is_refused_before_anything_runs(void **state)
{
	size_t requests = repository_requests("/"), sets = count_entries(store("index"));
	struct sbx_error err;

	(void)state;
	assert_int_equal(add_fails("java", LIST("x"), &err), SBX_E_INVALID);
	expect_contains(err.msg, "group:artifact:version");
	assert_int_equal(add_fails("python", LIST("sbx-good", "--index-url=http://x"), &err), SBX_E_INVALID);
	assert_int_equal(add_fails("cpp", LIST("bash"), &err), SBX_E_INVALID);
	assert_int_equal(repository_requests("/"), requests);
	assert_int_equal(count_entries(store("index")), sets);
}

static void where_libraries_are_switched_off_the_rest_works(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_run run = {.language = "python", .code = "print(1)", .code_len = 8,
			      .libraries = LIST("sbx-good")};
	struct sbx_result *result = NULL;
	struct sbx_error err;

	sbx_spec_use_libraries(t->spec, false);
	assert_int_equal(sbx_session_run(test_session(t), &run, &result, &err), -SBX_E_INVALID);
	expect_contains(err.msg, "switched off");
	run_prints(t, "python", NULL, "print(2)", "2\n");
	if (test_isolates())
		assert_int_not_equal(test_exec(t, "ls", "-d", "/opt/llm-sandbox/libraries", NULL)->exit_code, 0);
}

static void offline_uses_what_is_there_and_installs_nothing(void **state)
{
	struct sbx_install how = {.language = "python", .requirements = LIST("sbx-good==1.0"), .offline = true};
	struct sbx_error err;
	size_t before;

	(void)state;
	sbx_library_set_free(add("python", LIST("sbx-good==1.0")));
	before = repository_requests("/");
	assert_int_equal(library_add(&how, NULL, &err), 0);
	how.requirements = LIST("sbx-good==1.0", "sbx-needs");
	assert_int_equal(library_add(&how, NULL, &err), -SBX_E_NOT_FOUND);
	assert_int_equal(repository_requests("/"), before);
}

/* As many as there are asked for: who asks may be a model that goes through names. */
static void what_is_not_installed_leaves_nothing_in_the_store(void **state)
{
	struct sbx_install how = {.language = "python", .offline = true};
	size_t before;
	struct sbx_error err;

	(void)state;
	add_fails("python", LIST("sbx-there-is-none"), &err);
	before = count_entries(store("index"));
	add_fails("python", LIST("sbx-there-is-none-either"), &err);
	how.requirements = LIST("sbx-nor-this");
	assert_int_equal(library_add(&how, NULL, &err), -SBX_E_NOT_FOUND);
	how.requirements = LIST("sbx-nor-that");
	assert_int_equal(library_add(&how, NULL, &err), -SBX_E_NOT_FOUND);
	assert_int_equal(count_entries(store("index")), before);
	assert_int_equal(count_entries(store("new")), 0);
}

static void an_installation_has_a_time(void **state)
{
	struct sbx_install how = {
		.language = "python", .requirements = LIST("sbx-slow"), .timeout_ms = 3000};
	struct sbx_error err;

	(void)state;
	repository_release(false);
	assert_int_equal(library_add(&how, NULL, &err), -SBX_E_TIMEOUT);
	assert_int_equal(count_entries(store("new")), 0);
}

static bool slow_was_asked(void *userdata)
{
	return repository_requests("/files/sbx_slow") > *(size_t *)userdata;
}

static size_t slow_before;

static void *kill_when_it_waits(void *cancel)
{
	wait_until(slow_was_asked, &slow_before);
	sbx_cancel_kill(cancel);
	return NULL;
}

static void an_installation_can_be_cancelled(void **state)
{
	struct sbx_install how = {.language = "python", .requirements = LIST("sbx-slow")};
	struct sbx_error err;
	pthread_t thread;

	(void)state;
	repository_release(false);
	slow_before = repository_requests("/files/sbx_slow");
	assert_int_equal(sbx_cancel_new(&how.cancel, &err), 0);
	pthread_create(&thread, NULL, kill_when_it_waits, how.cancel);
	assert_int_equal(library_add(&how, NULL, &err), -SBX_E_UNAVAILABLE);
	pthread_join(thread, NULL);
	sbx_cancel_free(how.cancel);
	expect_contains(err.msg, "cancelled");
	assert_int_equal(count_entries(store("new")), 0);
}

static void *install_slow(void *userdata)
{
	struct sbx_session *session = userdata;
	struct sbx_install how = {.language = "python", .requirements = LIST("sbx-slow", "sbx-paths")};
	struct sbx_error err = {0};

	return sbx_session_install(session, &how, NULL, &err) < 0 ? (void *)(intptr_t)err.code : NULL;
}

static void an_installation_holds_up_nothing_else_of_its_session(void **state)
{
	struct test_sandbox *t = *state;
	size_t before = repository_requests("/files/sbx_slow");
	pthread_t thread;
	void *code;

	repository_release(false);
	run_prints(t, "python", NULL, "print(1)", "1\n");
	pthread_create(&thread, NULL, install_slow, test_session(t));
	assert_true(wait_until(slow_was_asked, &before));
	assert_string_equal(test_exec(t, "echo", "2", NULL)->out.data, "2\n");
	run_prints(t, "python", NULL, "print(3)", "3\n");
	repository_release(true);
	pthread_join(thread, &code);
	assert_int_equal((intptr_t)code, 0);
	run_prints(t, "python", NULL, "import sbx_slow, sbx_paths; print(4)", "4\n");
}

struct held {
	struct sbx_registry *registry;
	struct sbx_session *session;
};

static void *install_held(void *userdata)
{
	struct held *h = userdata;
	void *code = install_slow(h->session);

	sbx_registry_release(h->registry, h->session);
	return code;
}

static void a_session_that_is_ended_installs_no_more(void **state)
{
	size_t before = repository_requests("/files/sbx_slow");
	struct sbx_registry_open how = {0};
	struct sbx_session_info info;
	struct sbx_spec *spec = NULL;
	struct sbx_error err;
	struct held h = {0};
	pthread_t thread;
	void *code;

	(void)state;
	repository_release(false);
	remove_all();
	assert_int_equal(sbx_spec_new(&spec, &err), 0);
	assert_int_equal(test_use_backend(spec, &err), 0);
	how.spec = spec;
	assert_int_equal(sbx_registry_new(&(struct sbx_registry_limits){0}, &h.registry, &err), 0);
	if (sbx_registry_open(h.registry, &how, &info, &err) < 0 ||
	    sbx_registry_acquire(h.registry, NULL, info.id, &h.session, &err) < 0)
		fail_msg("%s", err.msg);
	pthread_create(&thread, NULL, install_held, &h);
	assert_true(wait_until(slow_was_asked, &before));
	assert_int_equal(sbx_registry_close(h.registry, NULL, info.id, &err), 0);
	pthread_join(thread, &code);
	assert_int_equal((intptr_t)code, SBX_E_UNAVAILABLE);
	sbx_registry_free(h.registry);
	assert_int_equal(count_entries(store("new")), 0);
}

/* ---- the store ---- */

/* One of several at once; an assertion is for the test's own thread. */
struct adding {
	const char *const *requirements;
	struct sbx_library_set *set;
	struct sbx_error err;
};

static void *add_in_thread(void *userdata)
{
	struct adding *a = userdata;
	struct sbx_install how = {.language = "python", .requirements = a->requirements};

	if (library_add(&how, &a->set, &a->err) < 0)
		a->set = NULL;
	return NULL;
}

static void two_who_want_the_same_install_it_once(void **state)
{
	const char *const *wanted = LIST("sbx-needs", "sbx-good==2.0");
	size_t before = repository_requests("/files/sbx_needs");
	struct adding adding[3];
	pthread_t threads[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		adding[i] = (struct adding){.requirements = wanted};
		pthread_create(&threads[i], NULL, add_in_thread, &adding[i]);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++) {
		if (adding[i].set == NULL)
			fail_msg("%s", adding[i].err.msg);
	}
	assert_int_equal(repository_requests("/files/sbx_needs"), before + 1);
	for (int i = 0; i < 3; i++) {
		assert_string_equal(adding[i].set->id, adding[0].set->id);
		assert_int_equal(adding[i].set->made, adding[0].set->made);
	}
	for (int i = 0; i < 3; i++)
		sbx_library_set_free(adding[i].set);
}

static void what_a_killed_builder_left_is_thrown_away(void **state)
{
	size_t before = repository_requests("/files/sbx_slow");
	pid_t child;

	repository_release(false);
	child = fork();
	if (child == 0) {
		sbx_library_set_free(add("python", LIST("sbx-slow", "sbx-good==1.0")));
		_exit(0);
	}
	assert_true(wait_until(slow_was_asked, &before));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(count_entries(store("new")), 1);

	repository_release(true);
	run_prints(*state, "python", LIST("sbx-good==1.0", "sbx-slow"), "import sbx_slow; print(1)", "1\n");
	assert_int_equal(count_entries(store("new")), 0);
}

static void the_set_that_was_not_used_for_longest_goes_first(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_library_set *old, *kept, **list;
	struct sbx_error err;
	bool has_old = false, has_kept = false;
	size_t count;

	old = add("python", LIST("sbx-other", "sbx-needs"));
	kept = add("python", LIST("sbx-other"));
	run_prints(t, "python", LIST("sbx-other"), "import sbx_other; print(1)", "1\n");
	setenv("LLM_SANDBOX_LIBRARY_CACHE", "1K", 1);
	sbx_library_set_free(add("python", LIST("sbx-needs", "sbx-good==1.0", "sbx-other")));
	unsetenv("LLM_SANDBOX_LIBRARY_CACHE");

	assert_int_equal(sbx_library_list(&list, &count, &err), 0);
	for (size_t i = 0; i < count; i++) {
		has_old |= strcmp(list[i]->id, old->id) == 0;
		has_kept |= strcmp(list[i]->id, kept->id) == 0;
		sbx_library_set_free(list[i]);
	}
	free(list);
	assert_false(has_old);
	/* A session uses it. */
	assert_true(has_kept);
	run_prints(t, "python", NULL, "import sbx_other; print(1)", "1\n");
	sbx_library_set_free(old);
	sbx_library_set_free(kept);
}

static void skip_elsewhere(void)
{
	print_message("# skipped: it looks into this machine's store, and an engine keeps the files\n");
	skip();
}

/* The folder of the only set there is. */
static void only_folder(char *ret, size_t size)
{
	DIR *dir = opendir(store("sets"));
	struct dirent *entry;
	size_t found = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(ret, size, "%.180s/%.32s", store("sets"), entry->d_name);
		found++;
	}
	closedir(dir);
	assert_int_equal(found, 1);
}

static void verify_names_what_was_changed(void **state)
{
	struct sbx_library_set *set;
	struct sbx_error err;
	char folder[256], path[512];

	if (test_has_image())
		skip_elsewhere();
	(void)state;
	chmod(store("sets"), 0711); /* we want to look into it */
	remove_all();
	set = add("python", LIST("sbx-good==1.0"));
	chmod(store("sets"), 0711);
	only_folder(folder, sizeof(folder));
	assert_int_equal(sbx_library_verify(set->id, &err), 0);

	write_file(folder, "sbx_good.py", "version = '6.6'\n");
	assert_int_equal(sbx_library_verify(set->id, &err), -SBX_E_DENIED);
	expect_contains(err.msg, "sbx_good.py");
	write_file(folder, "sbx_good.py", "version = '1.0'\n");
	assert_int_equal(sbx_library_verify(set->id, &err), 0);

	write_file(folder, "new.py", "");
	assert_int_equal(sbx_library_verify(set->id, &err), -SBX_E_DENIED);
	expect_contains(err.msg, "new.py");
	snprintf(path, sizeof(path), "%s/new.py", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/sbx_good.py", folder);
	unlink(path);
	assert_int_equal(sbx_library_verify(set->id, &err), -SBX_E_DENIED);
	expect_contains(err.msg, "sbx_good.py");
	assert_int_equal(sbx_library_remove(set->id, &err), 0);
	assert_int_equal(sbx_library_remove(set->id, &err), -SBX_E_NOT_FOUND);
	chmod(store("sets"), 0311);
	sbx_library_set_free(set);
}

static void an_id_from_outside_is_no_path(void **state)
{
	static const char *const ids[] = {"", "..", "../index", "0123456789abcdef/x", "x", "*",
					  "0123456789ABCDEF", "0123456789abcdef0"};
	struct sbx_error err;
	char *lock;

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		assert_int_equal(sbx_library_remove(ids[i], &err), -SBX_E_NOT_FOUND);
		assert_int_equal(sbx_library_verify(ids[i], &err), -SBX_E_NOT_FOUND);
		assert_int_equal(sbx_library_lock(ids[i], &lock, &err), -SBX_E_NOT_FOUND);
	}
}

static void a_broken_record_is_no_set(void **state)
{
	struct sbx_library_set *set;
	char path[256], folder[256];
	FILE *f;

	if (test_has_image())
		skip_elsewhere();
	set = add("python", LIST("sbx-good==2.0"));
	snprintf(path, sizeof(path), "index/%s.json", set->id);
	f = fopen(store(path), "w");
	assert_non_null(f);
	fputs("{\"folder\": \"../../..\", \"language\": 1}", f);
	fclose(f);
	run_prints(*state, "python", LIST("sbx-good==2.0"), "import sbx_good; print(1)", "1\n");
	sbx_library_set_free(set);
	/* What it named is found and thrown away all the same. */
	chmod(store("sets"), 0711);
	remove_all();
	set = add("python", LIST("sbx-good==1.0"));
	chmod(store("sets"), 0711);
	only_folder(folder, sizeof(folder));
	chmod(store("sets"), 0311);
	sbx_library_set_free(set);
}

/* ---- what code inside can do with the sets ---- */

static void a_set_is_read_only_inside(void **state)
{
	static const char code[] =
		"import os, sbx_good\n"
		"folder = os.path.dirname(sbx_good.__file__)\n"
		"for act in (lambda: open(folder + '/x', 'w'), lambda: open(sbx_good.__file__, 'a'),\n"
		"            lambda: os.unlink(sbx_good.__file__), lambda: os.chmod(folder, 0o777),\n"
		"            lambda: os.rename(folder, folder + 'x'),\n"
		"            lambda: open('/opt/llm-sandbox/libraries/x', 'w')):\n"
		"    try:\n"
		"        act()\n"
		"        print('done')\n"
		"    except OSError as e:\n"
		"        print('no')\n";

	test_need_isolation("nothing keeps a library in or out");
	run_prints(*state, "python", LIST("sbx-good==1.0"), code, "no\nno\nno\nno\nno\nno\n");
}

static void a_sandbox_cannot_tell_which_sets_there_are(void **state)
{
	struct test_sandbox *t = *state;

	test_need_isolation("nothing keeps a library in or out");
	sbx_library_set_free(add("python", LIST("sbx-other")));
	run_prints(t, "python", LIST("sbx-good==1.0"),
		   "import os, sbx_good\n"
		   "folder = os.path.dirname(os.path.dirname(sbx_good.__file__))\n"
		   "print(folder.startswith('/opt/llm-sandbox/libraries'))\n"
		   "try:\n"
		   "    print(os.listdir(folder))\n"
		   "except PermissionError:\n"
		   "    print('no')\n"
		   "print([os.path.exists(folder + '/' + n) for n in ('..x', '.lock', 'index')])\n"
		   "import glob\n"
		   "print(glob.glob(folder + '/*'), open('/proc/self/mountinfo').read().count('sbx_'))\n",
		   "True\nno\n[False, False, False]\n[] 0\n");
}

/* ---- hostile packages ---- */

static void a_wheel_that_leads_out_writes_nothing_outside(void **state)
{
	struct sbx_error err;

	(void)state;
	assert_int_equal(add_fails("python", LIST("sbx-escape"), &err), SBX_E_DENIED);
	assert_int_not_equal(access("/tmp/sbx-escaped", F_OK), 0);
	assert_int_not_equal(access("/tmp/sbx-escaped-too", F_OK), 0);
	assert_int_equal(count_entries(store("new")), 0);
}

static void odd_files_of_a_wheel_come_out_as_plain_ones(void **state)
{
	struct sbx_library_set *set;
	char folder[256], path[600];
	struct stat st;
	struct sbx_error err;
	static const char *const names[] = {"setuid", "wide", "link", "newline\nname", "\x1b[31mred"};

	if (test_has_image())
		skip_elsewhere();
	(void)state;
	chmod(store("sets"), 0711);
	remove_all();
	set = add("python", LIST("sbx-odd"));
	chmod(store("sets"), 0711);
	only_folder(folder, sizeof(folder));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/sbx_data/%s", folder, names[i]);
		if (lstat(path, &st) < 0)
			fail_msg("'%s' is not there", names[i]);
		assert_true(S_ISREG(st.st_mode));
		assert_int_equal(st.st_mode & 07222, 0);
	}
	assert_int_equal(sbx_library_verify(set->id, &err), 0);
	chmod(store("sets"), 0311);
	sbx_library_set_free(set);
}

static void what_would_have_to_be_built_by_pip_is_not_run(void **state)
{
	struct sbx_error err;

	(void)state;
	assert_int_equal(add_fails("python", LIST("sbx-source"), &err), SBX_E_DENIED);
	expect_contains(err.msg, "sbx-source");
}

static void scripts_of_npm_packages_do_not_run_and_links_do_not_come_out(void **state)
{
	static const char code[] =
		"const fs = require('fs'); const path = require('path');\n"
		"const folder = path.dirname(require.resolve('sbx-evil'));\n"
		"const set = path.resolve(folder, '../..');\n"
		"console.log(require('sbx-evil'), fs.existsSync(set + '/script-ran'),\n"
		"  fs.existsSync(folder + '/passwd'), fs.existsSync(folder + '/up'),\n"
		"  (fs.statSync(folder + '/x.setuid').mode & 0o6000));\n";

	run_prints(*state, "javascript", LIST("sbx-evil"), code, "evil false false false 0\n");
	assert_int_not_equal(access("/tmp/sbx-npm-out", F_OK), 0);
}

static void what_a_build_plants_in_a_set_comes_out_as_plain_files(void **state)
{
	static const char code[] =
		"require 'sbx_planted'\n"
		"folder = File.dirname($LOADED_FEATURES.grep(/sbx_planted/).first)\n"
		"puts %w[passwd up fifo].map { |n| File.symlink?(folder + '/' + n) ||\n"
		"                                   File.exist?(folder + '/' + n) }.inspect\n"
		"s = File.lstat(folder + '/setuid')\n"
		"puts s.setuid?, s.setgid?, s.nlink, s.mode & 0222\n"
		"puts File.read(folder + \"/new\\nline\")\n";

	need_ruby_headers();
	run_prints(*state, "ruby", LIST("sbx_plant"), code,
		   "[false, false, false]\nfalse\nfalse\n1\n0\nx\n");
}

static void a_pth_file_of_a_wheel_is_not_run(void **state)
{
	run_prints(*state, "python", LIST("sbx-paths"),
		   "import os, sbx_paths; print(os.path.exists('/tmp/pth-ran'))", "False\n");
}

/* ---- configuration ---- */

static void collect(const char *text, size_t len, void *userdata)
{
	char *all = userdata;
	size_t used = strlen(all);

	snprintf(all + used, 65536 - used, "%.*s", (int)len, text);
}

static void credentials_reach_the_installer_and_nobody_else(void **state)
{
	struct test_sandbox *t = *state;
	char *said = calloc(1, 65536), url[256];
	struct sbx_install how = {.language = "python",
				  .requirements = LIST("sbx-good==1.0", "sbx-needs", "sbx-paths"),
				  .on_progress = collect,
				  .userdata = said};
	struct sbx_error err;

	snprintf(url, sizeof(url), "http://reader:s3cret%%25word@%s/private/simple/", repository_address());
	setenv("PIP_INDEX_URL", url, 1);
	if (library_add(&how, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	how.requirements = LIST("sbx-there-is-none");
	assert_int_equal(library_add(&how, NULL, &err), -SBX_E_DENIED);
	assert_null(strstr(err.msg, "s3cret"));
	assert_null(strstr(said, "s3cret"));
	expect_contains(said, "sbx-good");
	assert_false(found_in_tree(repository_path("cache"), "s3cret"));
	run_prints(t, "python", LIST("sbx-good==1.0", "sbx-needs", "sbx-paths"),
		   "import os; print('s3cret' in str(os.environ))", "False\n");
	repository_use();
	free(said);
}

static void a_configuration_file_decides_as_a_variable_does(void **state)
{
	char text[256];
	FILE *f;

	unsetenv("PIP_INDEX_URL");
	mkdir(repository_path("home/.config"), 0700);
	mkdir(repository_path("home/.config/pip"), 0700);
	snprintf(text, sizeof(text), "[global]\nindex-url = http://%s/simple/\n[install]\nuser = true\n",
		 repository_address());
	f = fopen(repository_path("home/.config/pip/pip.conf"), "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	run_prints(*state, "python", LIST("sbx-good==1.0", "sbx-other"), "import sbx_other; print(1)", "1\n");
	unlink(repository_path("home/.config/pip/pip.conf"));
	repository_use();
}

static void a_manager_that_does_not_tell_its_hosts_tells_no_credentials(void **state)
{
	struct sbx_error err;

	(void)state;
	if (!has_tool("/usr/bin/Rscript"))
		test_skip_promised("R is not installed");
	write_file(repository_path("home"), "broken-profile",
		   "stop('cannot use https://reader:s3cret@example.invalid/ \\033]0;x')\n");
	setenv("R_PROFILE_USER", repository_path("home/broken-profile"), 1);
	assert_int_equal(add_fails("r", LIST("sbxgood"), &err), SBX_E_UNAVAILABLE);
	unsetenv("R_PROFILE_USER");
	expect_contains(err.msg, "cannot use https://***@example.invalid/");
	assert_null(strstr(err.msg, "s3cret"));
	assert_null(strchr(err.msg, '\033'));
	assert_null(strchr(err.msg, '\n'));
}

/* Before anything is installed a manager is asked for its hosts: that counts too. */
static void a_manager_that_thinks_for_ever_has_the_time_of_the_installation(void **state)
{
	struct sbx_install how = {
		.language = "r", .requirements = LIST("sbxgood"), .timeout_ms = 2000};
	time_t begin = time(NULL);
	struct sbx_error err;

	(void)state;
	if (!has_tool("/usr/bin/Rscript"))
		test_skip_promised("R is not installed");
	write_file(repository_path("home"), "slow-profile", "Sys.sleep(1000)\n");
	setenv("R_PROFILE_USER", repository_path("home/slow-profile"), 1);
	assert_int_equal(library_add(&how, NULL, &err), -SBX_E_TIMEOUT);
	unsetenv("R_PROFILE_USER");
	expect_contains(err.msg, "R did not tell");
	assert_true(time(NULL) - begin < 25);
}

/* ---- sets for images ---- */

static void a_set_for_an_image_is_no_set_of_this_machine(void **state)
{
	struct sbx_install how = {.language = "python", .requirements = LIST("sbx-good==1.0")};
	struct sbx_library_set *set = add("python", how.requirements), *machines = NULL;
	struct sbx_error err;

	(void)state;
	if (sbx_library_add(&how, &machines, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(set->image, repository_path("image"));
	assert_string_equal(machines->image, "");
	assert_string_equal(set->tool_chain, machines->tool_chain);
	assert_string_not_equal(set->id, machines->id);
	sbx_library_set_free(set);
	sbx_library_set_free(machines);
}

/* ---- sets that an engine keeps ---- */

static void need_engine(void)
{
	if (test_has_image())
		return;
	print_message("# skipped: no engine keeps sets here\n");
	skip();
}

/* Ask the engine itself; what it answers is in ret. */
static void ask_engine(const char *method, const char *path, char *ret, size_t size)
{
	const char *host = getenv(strcmp(test_backend(), "docker") == 0 ? "DOCKER_HOST" : "CONTAINER_HOST");
	char line[1024];
	size_t len;
	FILE *f;

	assert_non_null(host);
	snprintf(line, sizeof(line), "curl -gs --max-time 60 -X %s --unix-socket '%s' 'http://engine/v1.41%s'",
		 method, host + strlen("unix://"), path);
	f = popen(line, "r");
	assert_non_null(f);
	len = fread(ret, 1, size - 1, f);
	ret[len] = '\0';
	pclose(f);
}

static void name_volume(const struct sbx_library_set *set, char *ret, size_t size)
{
	assert_memory_equal(set->image, "sha256:", 7);
	snprintf(ret, size, "llm-sandbox-libraries-%s", set->image + 7);
}

static void a_set_names_its_image_and_its_engine(void **state)
{
	struct sbx_library_set *set;
	char name[128], path[256], answer[4096];

	(void)state;
	need_engine();
	set = add("python", LIST("sbx-good==1.0"));
	assert_string_equal(set->backend, test_backend());
	expect_contains(set->engine, "unix://");
	name_volume(set, name, sizeof(name));
	snprintf(path, sizeof(path), "/volumes/%s", name);
	ask_engine("GET", path, answer, sizeof(answer));
	expect_contains(answer, "\"llm-sandbox\":\"libraries\"");
	expect_contains(answer, set->image);
	assert_int_equal(count_entries(store("sets")), 0);
	sbx_library_set_free(set);
}

static bool volume_goes(void *path)
{
	char answer[4096];

	/* Containers end off their callers' path: one may have it for a moment. */
	ask_engine("DELETE", path, answer, sizeof(answer));
	ask_engine("GET", path, answer, sizeof(answer));
	return strstr(answer, "\"Mountpoint\"") == NULL;
}

static void a_volume_that_was_removed_is_made_and_filled_anew(void **state)
{
	struct sbx_library_set *set;
	char name[128], path[256];

	need_engine();
	set = add("python", LIST("sbx-good==1.0"));
	name_volume(set, name, sizeof(name));
	snprintf(path, sizeof(path), "/volumes/%s", name);
	assert_true(wait_until(volume_goes, path));
	run_prints(*state, "python", LIST("sbx-good==1.0"), "import sbx_good; print(sbx_good.version)",
		   "1.0\n");
	sbx_library_set_free(set);
}

static void a_set_with_an_engine_is_removed_and_verified_there(void **state)
{
	struct sbx_library_set *set, *again;
	struct sbx_error err;

	need_engine();
	set = add("python", LIST("sbx-good==1.0"));
	if (sbx_library_verify(set->id, &err) < 0 || sbx_library_remove(set->id, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(sbx_library_remove(set->id, &err), -SBX_E_NOT_FOUND);
	run_prints(*state, "python", LIST("sbx-good==1.0"), "import sbx_good; print(1)", "1\n");
	again = add("python", LIST("sbx-good==1.0"));
	assert_string_equal(set->id, again->id);
	sbx_library_set_free(set);
	sbx_library_set_free(again);
}

/* Whoever looks for a set that cannot be had sweeps the store. */
static int sweep(void)
{
	const struct sbx_install how = {
		.language = "python", .requirements = LIST("sbx-nowhere"), .offline = true};
	struct sbx_error err;

	return sbx_library_add(&how, NULL, &err);
}

/* As soon as a copy is in it. */
static void *sweep_until_told(void *told)
{
	while (!atomic_load((atomic_bool *)told)) {
		if (count_entries(store("new")) > 0)
			sweep();
	}
	return NULL;
}

static void a_verification_is_not_disturbed_by_who_sweeps(void **state)
{
	struct sbx_library_set *set;
	atomic_bool told = false;
	struct sbx_error err;
	pthread_t thread;
	int r = 0;

	(void)state;
	need_engine();
	set = add("python", LIST("sbx-good==1.0"));
	assert_int_equal(sweep(), -SBX_E_NOT_FOUND);
	pthread_create(&thread, NULL, sweep_until_told, &told);
	for (int i = 0; i < 4 && r == 0; i++)
		r = sbx_library_verify(set->id, &err);
	atomic_store(&told, true);
	pthread_join(thread, NULL);
	if (r < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(count_entries(store("new")), 0);
	sbx_library_set_free(set);
}

/* Its builder died between the name and the record. */
static void a_folder_that_a_killed_builder_left_with_an_engine_goes(void **state)
{
	static const char name[] = "0123456789abcdef0123456789abcdef";
	struct sbx_library_set *set;
	char path[128], note[256];
	FILE *f;

	(void)state;
	need_engine();
	set = add("python", LIST("sbx-good==1.0"));
	snprintf(path, sizeof(path), "index/%s.name", name);
	f = fopen(store(path), "w");
	assert_non_null(f);
	fprintf(f, "fedcba9876543210\n{\"folder\": \"%s\", \"language\": \"python\", \"tool_chain\": \"3\", "
		   "\"image\": \"%s\", \"backend\": \"%s\", \"engine\": \"%s\", \"requirements\": [], "
		   "\"packages\": [], \"bytes\": 0, \"made\": 1}", name, set->image, set->backend, set->engine);
	fclose(f);
	snprintf(note, sizeof(note), "%s", store(path));
	sbx_library_set_free(set);
	sbx_library_set_free(add("python", LIST("sbx-good==2.0", "sbx-paths")));
	assert_int_not_equal(access(note, F_OK), 0);
}

static void odd_files_of_a_wheel_are_plain_ones_in_a_volume(void **state)
{
	need_engine();
	run_prints(*state, "python", LIST("sbx-odd"),
		   "import os, stat, sys\n"
		   "folder = [p for p in sys.path if os.path.isdir(p + '/sbx_data')][0] + '/sbx_data'\n"
		   "for name in ('setuid', 'wide', 'link', 'newline\\nname', '\\x1b[31mred'):\n"
		   "    at = os.lstat(folder + '/' + name)\n"
		   "    print(stat.S_ISREG(at.st_mode), at.st_mode & 0o7222, at.st_uid)\n",
		   "True 0 0\nTrue 0 0\nTrue 0 0\nTrue 0 0\nTrue 0 0\n");
}

static void an_engine_that_is_not_used_now_keeps_its_sets(void **state)
{
	const char *variable = strcmp(test_backend(), "docker") == 0 ? "DOCKER_HOST" : "CONTAINER_HOST";
	char *host = getenv(variable);
	struct sbx_library_set *set;
	struct sbx_error err;

	(void)state;
	need_engine();
	set = add("python", LIST("sbx-good==1.0"));
	host = strdup(host);
	setenv(variable, "unix:///nonexistent/engine.sock", 1);
	assert_int_equal(sbx_library_remove(set->id, &err), -SBX_E_UNAVAILABLE);
	setenv(variable, host, 1);
	free(host);
	if (sbx_library_remove(set->id, &err) < 0)
		fail_msg("%s", err.msg);
	sbx_library_set_free(set);
}

/* ---- progress ---- */

static void progress_tells_what_the_installer_says(void **state)
{
	char *said = calloc(1, 65536);
	struct sbx_install how = {.language = "python", .requirements = LIST("sbx-needs", "sbx-paths"),
				  .on_progress = collect, .userdata = said};
	struct sbx_error err;

	(void)state;
	if (library_add(&how, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	expect_contains(said, "Successfully installed");
	free(said);
}

/* An image of the native backend with this machine's tools, which nobody else sees. */
static bool make_machine_image(void)
{
	char command[1200];

	snprintf(command, sizeof(command),
		 "cd '%s' && mkdir image image/usr image/etc && "
		 "for each in ssl alternatives R; do [ ! -e /etc/$each ] || cp -a /etc/$each image/etc; done && "
		 "for each in bin sbin lib lib64; do ln -s usr/$each image/$each; done && "
		 "mount --bind /usr image/usr",
		 repository_folder());
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       system(command) == 0 && setenv("SBX_TEST_ROOT", repository_path("image"), 1) == 0;
}

static int setup(void **state)
{
	struct sbx_error err;

	if (repository_setup(state) < 0)
		return -1;
	if (getenv("SBX_TEST_MACHINE_IMAGE") != NULL && !make_machine_image())
		return -1;
	if (!test_has_image() && getenv("SBX_TEST_ROOT") == NULL)
		return 0;
	return sbx_spec_new(&image_spec, &err) < 0 ? -1 : test_use_backend(image_spec, &err);
}

/* What is kept by an engine is not in the folder that goes. */
static int teardown(void **state)
{
	char usr[512];

	if (test_has_image())
		remove_all();
	sbx_spec_free(image_spec);
	if (getenv("SBX_TEST_MACHINE_IMAGE") != NULL) {
		snprintf(usr, sizeof(usr), "%s/usr", repository_path("image"));
		if (umount(usr) < 0)
			return -1;
	}
	return repository_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sandbox_test(a_run_gets_the_libraries_it_names),
		sandbox_test(versions_and_extras_are_what_was_asked_for),
		sandbox_test(the_lock_file_names_what_was_installed),
		sandbox_test(libraries_of_a_session_add_up),
		sandbox_test(a_command_finds_the_libraries_of_its_session),
		sandbox_test(a_set_that_is_made_later_is_seen_in_a_session_that_is_open),
		sandbox_test(a_kernel_that_takes_no_libraries_holds_no_cell_up),
		sandbox_test(javascript_requires_and_imports),
		sandbox_test(a_kernel_sees_libraries_from_before_its_start_and_later_ones),
		sandbox_test(kernels_of_other_languages_see_later_libraries_too),
		sandbox_test(ruby_gets_gems_and_what_they_need),
		sandbox_test(a_native_gem_builds_with_nothing_to_reach_or_find),
		sandbox_test(r_gets_packages_their_needs_and_old_versions),
		sandbox_test(an_r_package_builds_with_nothing_to_reach_or_find),
		sandbox_test(a_missing_package_fails_the_run_with_the_installers_words),
		sandbox_test(failures_of_other_managers_have_their_words_too),
		sandbox_test(an_ill_formed_name_is_refused_before_anything_runs),
		sandbox_test(where_libraries_are_switched_off_the_rest_works),
		sandbox_test(offline_uses_what_is_there_and_installs_nothing),
		sandbox_test(what_is_not_installed_leaves_nothing_in_the_store),
		sandbox_test(an_installation_has_a_time),
		sandbox_test(an_installation_can_be_cancelled),
		sandbox_test(an_installation_holds_up_nothing_else_of_its_session),
		sandbox_test(a_session_that_is_ended_installs_no_more),
		sandbox_test(two_who_want_the_same_install_it_once),
		sandbox_test(what_a_killed_builder_left_is_thrown_away),
		sandbox_test(the_set_that_was_not_used_for_longest_goes_first),
		sandbox_test(verify_names_what_was_changed),
		sandbox_test(an_id_from_outside_is_no_path),
		sandbox_test(a_broken_record_is_no_set),
		sandbox_test(a_set_is_read_only_inside),
		sandbox_test(a_sandbox_cannot_tell_which_sets_there_are),
		sandbox_test(a_wheel_that_leads_out_writes_nothing_outside),
		sandbox_test(odd_files_of_a_wheel_come_out_as_plain_ones),
		sandbox_test(what_would_have_to_be_built_by_pip_is_not_run),
		sandbox_test(scripts_of_npm_packages_do_not_run_and_links_do_not_come_out),
		sandbox_test(what_a_build_plants_in_a_set_comes_out_as_plain_files),
		sandbox_test(a_pth_file_of_a_wheel_is_not_run),
		sandbox_test(credentials_reach_the_installer_and_nobody_else),
		sandbox_test(a_configuration_file_decides_as_a_variable_does),
		sandbox_test(a_manager_that_does_not_tell_its_hosts_tells_no_credentials),
		sandbox_test(a_manager_that_thinks_for_ever_has_the_time_of_the_installation),
		sandbox_test(a_set_names_its_image_and_its_engine),
		sandbox_test(a_volume_that_was_removed_is_made_and_filled_anew),
		sandbox_test(a_set_with_an_engine_is_removed_and_verified_there),
		sandbox_test(a_folder_that_a_killed_builder_left_with_an_engine_goes),
		sandbox_test(a_verification_is_not_disturbed_by_who_sweeps),
		sandbox_test(odd_files_of_a_wheel_are_plain_ones_in_a_volume),
		sandbox_test(an_engine_that_is_not_used_now_keeps_its_sets),
		sandbox_test(progress_tells_what_the_installer_says),
	};

	const struct CMUnitTest of_images[] = {
		sandbox_test(a_run_gets_the_libraries_it_names),
		sandbox_test(libraries_of_a_session_add_up),
		sandbox_test(a_set_that_is_made_later_is_seen_in_a_session_that_is_open),
		sandbox_test(javascript_requires_and_imports),
		sandbox_test(a_kernel_sees_libraries_from_before_its_start_and_later_ones),
		sandbox_test(ruby_gets_gems_and_what_they_need),
		sandbox_test(r_gets_packages_their_needs_and_old_versions),
		sandbox_test(a_missing_package_fails_the_run_with_the_installers_words),
		sandbox_test(where_libraries_are_switched_off_the_rest_works),
		sandbox_test(offline_uses_what_is_there_and_installs_nothing),
		sandbox_test(a_set_is_read_only_inside),
		sandbox_test(a_sandbox_cannot_tell_which_sets_there_are),
		sandbox_test(a_set_for_an_image_is_no_set_of_this_machine),
	};

	if (getenv("SBX_TEST_MACHINE_IMAGE") != NULL && geteuid() != 0) {
		puts("1..0 # SKIP an image of this machine's tools is mounted together by root alone");
		return 77;
	}
	if (getenv("SBX_TEST_MACHINE_IMAGE") != NULL)
		return cmocka_run_group_tests_name("libraries of images", of_images, setup, teardown);
	/* A pattern of names, for a single one while it is worked on. */
	if (getenv("SBX_TEST_ONLY") != NULL)
		cmocka_set_test_filter(getenv("SBX_TEST_ONLY"));
	return cmocka_run_group_tests_name("libraries", tests, setup, teardown);
}
