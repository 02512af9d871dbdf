/* SPDX-License-Identifier: MIT */
/*
 * Whatever takes the agent's place can end its session and nothing else: no call of the library
 * hangs, crashes, writes outside what it was given, or takes memory without bound.
 */
#include "base/clock.h"
#include "fuzz/random.h"
#include "support/sandbox.h"

#include <llmsandbox/files.h>
#include <llmsandbox/kernel.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPERATIONS 6

struct place {
	char folder[64]; /* what is outside … */
	char out[80];	 /* … and where copies go */
	struct sbx_session *session;
	struct sbx_spec *spec;
	uint32_t state;
};

static uint32_t below(struct place *p, uint32_t n)
{
	return next(&p->state) % n;
}

static void open_place(struct place *p, const char *how)
{
	struct sbx_error err;

	setenv("SBX_HOSTILE", how, 1);
	snprintf(p->folder, sizeof(p->folder), "/tmp/sbx-hostile-XXXXXX");
	assert_non_null(mkdtemp(p->folder));
	snprintf(p->out, sizeof(p->out), "%s/out", p->folder);
	assert_int_equal(mkdir(p->out, 0755), 0);
	assert_int_equal(sbx_spec_new(&p->spec, &err), 0);
	assert_int_equal(sbx_spec_set_backend(p->spec, "fake", &err), 0);
	assert_int_equal(sbx_spec_set_limit(p->spec, SBX_LIMIT_WALL_MS, 300, &err), 0);
	assert_int_equal(sbx_spec_set_limit(p->spec, SBX_LIMIT_SESSION_MS, 3000, &err), 0);
	/* Half of them need nothing put before a kernel starts, and so come that far. */
	sbx_spec_use_support(p->spec, p->state % 2 == 0);
	p->session = NULL;
	if (sbx_session_open(p->spec, &p->session, &err) < 0)
		p->session = NULL;
}

/* A link that leads out of where copies go, for names that come to walk through. */
static void plant_link(const struct place *p)
{
	char link[128];

	snprintf(link, sizeof(link), "%s/tree", p->out);
	mkdir(link, 0755);
	snprintf(link, sizeof(link), "%s/tree/escape", p->out);
	if (symlink(p->folder, link) < 0)
		return;
}

static size_t count_entries(const char *folder)
{
	DIR *dir = opendir(folder);
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n - 2;
}

static void close_place(struct place *p)
{
	char command[160];

	sbx_session_close(p->session);
	sbx_spec_free(p->spec);
	assert_int_equal(count_entries(p->folder), 1);
	assert_int_not_equal(access("/etc/hostile", F_OK), 0);
	snprintf(command, sizeof(command), "rm -rf '%s'", p->folder);
	assert_int_equal(system(command), 0);
}

/* ---- what a user does ---- */

static void run(struct place *p)
{
	static const char *const argv[] = {"true", NULL};
	struct sbx_command command = {.argv = argv, .io = {.stdin_data = "in", .stdin_len = 2}};
	struct sbx_result *result = NULL;
	char *json = NULL;

	command.io.artifacts = below(p, 2);
	if (sbx_session_exec(p->session, &command, &result, NULL) == 0 &&
	    sbx_result_format_json(result, 2, &json, NULL) == 0)
		assert_true(strlen(json) > 0);
	free(json);
	sbx_result_free(result);
}

static void run_code(struct place *p)
{
	const struct sbx_file file = {.name = "data.txt", .data = "x", .len = 1};
	struct sbx_run code = {
		.language = below(p, 2) ? "python" : "cpp",
		.code = "int main() { return 0; }",
		.code_len = 24,
		.io = {.files = &file, .file_count = 1, .artifacts = below(p, 2)},
	};
	struct sbx_result *result = NULL;

	sbx_session_run(p->session, &code, &result, NULL);
	sbx_result_free(result);
}

static void run_in_background(struct place *p)
{
	static const char *const argv[] = {"true", NULL};
	struct sbx_command command = {.argv = argv, .io = {.stdin_data = "in", .stdin_len = 2}};
	struct sbx_process *process = NULL;
	struct sbx_result *result = NULL;

	if (sbx_session_start(p->session, &command, &process, NULL) < 0)
		return;
	sbx_process_wait(process, 50, NULL, &result, NULL);
	sbx_result_free(result);
	sbx_process_signal(process, SIGTERM, NULL);
	sbx_process_free(process);
}

static void run_cell(struct place *p)
{
	struct sbx_run code = {.language = "python", .code = "1", .code_len = 1, .kernel = "main"};
	struct sbx_result *result = NULL;
	struct sbx_kernel_info *kernels = NULL;
	struct sbx_cell *cells = NULL;
	size_t count = 0;

	code.io.artifacts = below(p, 2);
	if (sbx_session_run(p->session, &code, &result, NULL) == 0)
		assert_non_null(result->out.data);
	sbx_result_free(result);
	if (sbx_kernel_list(p->session, &kernels, &count, NULL) == 0)
		assert_true(count <= 1);
	free(kernels);
	if (sbx_kernel_history(p->session, "main", &cells, &count, NULL) == 0)
		sbx_cells_free(cells, count);
	sbx_kernel_reset(p->session, "main", NULL);
	if (below(p, 2))
		sbx_kernel_end(p->session, "main", NULL);
}

static void list(struct place *p)
{
	struct sbx_file_info *files = NULL;
	size_t count = 0;

	if (sbx_session_list_files(p->session, "x", below(p, 2), 100, &files, &count, NULL) == 0)
		assert_true(count <= 100);
	sbx_files_free(files, count);
}

static void read_one(struct place *p)
{
	struct sbx_file_info info = {0};
	char *data = NULL;
	size_t len = 0;

	if (sbx_session_read_file(p->session, "x", 0, 1000, &data, &len, NULL, NULL) == 0)
		assert_true(len <= 1000);
	free(data);
	if (sbx_session_stat_file(p->session, "x", &info, NULL) == 0)
		free(info.path);
}

static void copy_out(struct place *p)
{
	const struct sbx_copy how = {.most_bytes = 1 << 20, .most_files = 100};
	char to[128];

	plant_link(p);
	snprintf(to, sizeof(to), "%s/tree", p->out);
	sbx_session_get(p->session, "x", to, &how, NULL, NULL);
}

static void copy_in(struct place *p)
{
	sbx_session_put(p->session, p->out, "tree", NULL, NULL, NULL);
	sbx_session_write_file(p->session, "x", "text", 4, SBX_WRITE_REPLACE, NULL);
	sbx_session_remove_file(p->session, "x", true, NULL);
	sbx_session_make_folder(p->session, "y", NULL);
	sbx_session_clear_artifacts(p->session, NULL);
}

static void (*const operations[])(struct place *p) = {run,  run_code, run_in_background, run_cell,
						      list, read_one, copy_out,		 copy_in};

#define OPERATION_COUNT (sizeof(operations) / sizeof(operations[0]))

/* ---- tests ---- */

static void random_answers_end_a_session_at_worst(void **state)
{
	unsigned long sessions = test_size(100, 400, 5000);

	(void)state;
	for (unsigned long seed = 1; seed <= sessions; seed++) {
		struct place p = {.state = (uint32_t)seed};
		char how[32];

		snprintf(how, sizeof(how), "%lu", seed);
		open_place(&p, how);
		for (int i = 0; p.session != NULL && i < OPERATIONS; i++)
			operations[below(&p, OPERATION_COUNT)](&p);
		close_place(&p);
	}
}

static void kernels_that_say_anything_end_themselves_at_worst(void **state)
{
	unsigned long sessions = test_size(10, 30, 1000);

	(void)state;
	for (unsigned long seed = 1; seed <= sessions; seed++) {
		struct place p = {.state = 2 * (uint32_t)seed};
		char how[32];

		snprintf(how, sizeof(how), "kernel %lu", seed);
		open_place(&p, how);
		for (int i = 0; p.session != NULL && i < 3; i++)
			run_cell(&p);
		close_place(&p);
	}
}

/* Each call comes back by the run's time and a grace, or by the session's own. */
static void silence_ends_by_the_sessions_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < OPERATION_COUNT; i++) {
		struct place p = {.state = 1};
		uint64_t start;

		open_place(&p, "silent");
		assert_non_null(p.session);
		start = sbx_now_ns();
		operations[i](&p);
		assert_true(sbx_now_ns() - start < 20 * SBX_NS_PER_S);
		close_place(&p);
	}
}

/* It is not silent, and so no silence ends it. */
static void a_file_of_empty_pieces_ends_the_call(void **state)
{
	struct place p = {.state = 1};
	struct sbx_error err;
	char *data = NULL;
	size_t len = 0;

	(void)state;
	open_place(&p, "empty");
	assert_true(sbx_session_read_file(p.session, "x", 0, 1000, &data, &len, NULL, &err) < 0);
	assert_int_equal(err.code, SBX_E_PROTOCOL);
	close_place(&p);
}

/* ---- an agent that ends nothing ---- */

static void open_lazy(struct place *p, uint64_t session_ms)
{
	struct sbx_error err;

	*p = (struct place){.state = 1};
	open_place(p, "lazy");
	sbx_session_close(p->session);
	assert_int_equal(sbx_spec_set_limit(p->spec, SBX_LIMIT_WALL_MS, SBX_TIMEOUT_NONE, &err), 0);
	assert_int_equal(sbx_spec_set_limit(p->spec, SBX_LIMIT_SESSION_MS, session_ms, &err), 0);
	assert_int_equal(sbx_session_open(p->spec, &p->session, &err), 0);
}

static void a_cancelled_run_comes_back(void **state)
{
	static const char *const argv[] = {"true", NULL};
	struct sbx_command command = {.argv = argv};
	struct sbx_result *result = NULL;
	struct sbx_cancel *cancel = NULL;
	struct sbx_error err;
	struct place p;

	(void)state;
	open_lazy(&p, 0);
	assert_int_equal(sbx_cancel_new(&cancel, &err), 0);
	command.io.cancel = cancel;
	sbx_cancel_kill(cancel);
	assert_int_equal(sbx_session_exec(p.session, &command, &result, &err), 0);
	assert_int_equal(result->reason, SBX_CANCELLED);
	sbx_result_free(result);
	sbx_cancel_free(cancel);
	close_place(&p);
}

/* Start one, do what may be done, and wait for its end as long as it takes. */
static enum sbx_reason end_in_background(uint64_t session_ms, uint64_t timeout_ms, int signo)
{
	static const char *const argv[] = {"true", NULL};
	struct sbx_command command = {.argv = argv, .io = {.timeout_ms = timeout_ms}};
	struct sbx_process *process = NULL;
	struct sbx_result *result = NULL;
	enum sbx_reason reason;
	struct sbx_error err;
	struct place p;

	open_lazy(&p, session_ms);
	assert_int_equal(sbx_session_start(p.session, &command, &process, &err), 0);
	if (signo != 0)
		assert_int_equal(sbx_process_signal(process, signo, &err), 0);
	assert_int_equal(sbx_process_wait(process, SBX_TIMEOUT_NONE, NULL, &result, &err), 0);
	reason = result->reason;
	sbx_result_free(result);
	sbx_process_free(process);
	close_place(&p);
	return reason;
}

static void a_background_process_ends_by_its_time(void **state)
{
	(void)state;
	assert_int_equal(end_in_background(0, 300, 0), SBX_TIMEOUT);
}

static void a_background_process_ends_by_the_sessions_time(void **state)
{
	(void)state;
	assert_int_equal(end_in_background(300, 0, 0), SBX_TIMEOUT);
}

static void a_background_process_that_is_killed_ends(void **state)
{
	(void)state;
	assert_int_equal(end_in_background(0, 0, SIGKILL), SBX_CANCELLED);
}

/* ---- an agent that goes back on what it said ---- */

/* Its time is over and its kernel was killed: what that says then is no end of the cell. */
static void a_kernel_that_was_killed_has_nothing_more_to_say(void **state)
{
	struct sbx_run run = {.language = "python", .code = "1", .code_len = 1, .kernel = "main"};
	struct sbx_result *result = NULL;
	struct sbx_error err;
	struct place p = {.state = 2};

	(void)state;
	open_place(&p, "late");
	sbx_session_close(p.session);
	assert_int_equal(sbx_spec_set_limit(p.spec, SBX_LIMIT_SESSION_MS, 0, &err), 0);
	assert_int_equal(sbx_session_open(p.spec, &p.session, &err), 0);
	assert_int_equal(sbx_session_run(p.session, &run, &result, &err), 0);
	assert_int_equal(result->reason, SBX_TIMEOUT);
	assert_true(result->kernel_ended);
	assert_non_null(strstr(result->message, "state is gone"));
	sbx_result_free(result);
	close_place(&p);
}

static void artifacts_that_grow_pass_no_limit(void **state)
{
	static const char *const argv[] = {"true", NULL};
	struct sbx_command command = {.argv = argv, .io = {.artifacts = true}};
	struct sbx_result *result = NULL;
	struct sbx_error err;
	struct place p = {.state = 2};
	uint64_t bytes = 0;

	(void)state;
	open_place(&p, "growing");
	assert_int_equal(sbx_session_exec(p.session, &command, &result, &err), 0);
	for (size_t i = 0; i < result->artifact_count; i++)
		bytes += result->artifacts[i].size;
	assert_true(bytes <= sbx_spec_get_limit(p.spec, SBX_LIMIT_ARTIFACT_BYTES));
	assert_int_equal(result->artifact_count + result->artifacts_left_out, 5);
	sbx_result_free(result);
	close_place(&p);
}

static void a_flood_takes_no_memory(void **state)
{
	struct rusage before, after;

	(void)state;
	getrusage(RUSAGE_SELF, &before);
	for (size_t i = 0; i < OPERATION_COUNT; i++) {
		struct place p = {.state = 1};

		open_place(&p, "flood");
		operations[i](&p);
		close_place(&p);
	}
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 64 * 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_answers_end_a_session_at_worst),
		cmocka_unit_test(kernels_that_say_anything_end_themselves_at_worst),
		cmocka_unit_test(silence_ends_by_the_sessions_time),
		cmocka_unit_test(a_file_of_empty_pieces_ends_the_call),
		cmocka_unit_test(a_cancelled_run_comes_back),
		cmocka_unit_test(a_background_process_ends_by_its_time),
		cmocka_unit_test(a_background_process_ends_by_the_sessions_time),
		cmocka_unit_test(a_background_process_that_is_killed_ends),
		cmocka_unit_test(a_kernel_that_was_killed_has_nothing_more_to_say),
		cmocka_unit_test(artifacts_that_grow_pass_no_limit),
		cmocka_unit_test(a_flood_takes_no_memory),
	};
	const char *agent = getenv("SBX_HOSTILE_AGENT");

	if (agent != NULL)
		setenv("SBX_FAKE_AGENT", agent, 1);
	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
