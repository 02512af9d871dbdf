/* SPDX-License-Identifier: MIT */
/*
 * Every known way out of a sandbox, tried from inside. Each test opens a sandbox of its
 * own and runs the program `attack` in it, which exits 0 when the attack failed as it must.
 *
 * Run as root and as an ordinary user. What a user without subordinate ids or without a cgroup
 * is not promised is skipped with the reason. Root is promised all of it, so that
 * SBX_TEST_STRICT=1 makes root's skips failures. SBX_ATTACK names the program `attack`.
 */
#include "agent/seccomp/table.h"

#include "support/sandbox.h"

#include <pthread.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ARGS_MAX     1024

struct sandbox {
	struct sbx_spec *spec;
	struct sbx_session *session;
};

static struct sbx_error error;

static void check(int r)
{
	if (r < 0)
		fail_msg("%s: %s", sbx_code_name(error.code), error.msg);
}

/* A spec with the attacks in it; the caller may change it before opening. */
static struct sandbox prepare(void)
{
	struct sandbox s = {0};

	/* Where nothing isolates, the attacks would be on this machine. */
	if (!test_isolates())
		fail_msg("the backend '%s' isolates nothing", test_backend());
	check(sbx_spec_new(&s.spec, &error));
	check(test_use_backend(s.spec, &error));
	check(sbx_spec_add_mount(s.spec, getenv("SBX_ATTACK"), "/attack", false, &error));
	return s;
}

static void limit(struct sandbox *s, enum sbx_limit which, uint64_t value)
{
	check(sbx_spec_set_limit(s->spec, which, value, &error));
}

static void start(struct sandbox *s)
{
	check(sbx_session_open(s->spec, &s->session, &error));
}

static struct sandbox open_sandbox(void)
{
	struct sandbox s = prepare();

	start(&s);
	return s;
}

static void close_sandbox(struct sandbox *s)
{
	sbx_session_close(s->session);
	sbx_spec_free(s->spec);
}

/* Run `attack` with these arguments, NULL-terminated. */
static struct sbx_result *attack_argv(struct sandbox *s, const char *const *args)
{
	const char *argv[ARGS_MAX + 2] = {"/attack"};
	struct sbx_command command = {.argv = argv};
	struct sbx_result *result;

	for (size_t i = 0; args[i] != NULL; i++) {
		assert_true(i < ARGS_MAX);
		argv[i + 1] = args[i];
	}
	check(sbx_session_exec(s->session, &command, &result, &error));
	return result;
}

#define attack(s, ...) attack_argv(s, (const char *const[]){__VA_ARGS__, NULL})

/* Show what the attack said when it did not end as it must; frees the result. */
static void must_hold(struct sbx_result *result)
{
	bool held = result->reason == SBX_EXITED && result->exit_code == 0;

	if (!held)
		print_error("%s, exit code %d %s\n%s%s", sbx_reason_name(result->reason),
			    result->exit_code, result->message, result->out.data,
			    result->errout.data);
	sbx_result_free(result);
	if (!held)
		fail();
}

static bool is_enforced(struct sandbox *s, const char *name)
{
	struct sbx_result *result = attack(s, "harmless");
	bool found = false, enforced = false;

	for (size_t i = 0; i < result->isolation_count; i++)
		if (strcmp(result->isolation[i].name, name) == 0) {
			found = true;
			enforced = result->isolation[i].status == SBX_ENFORCED;
			if (!enforced)
				print_message("%s is missing: %s\n", name,
					      result->isolation[i].detail);
		}
	sbx_result_free(result);
	if (!found)
		fail_msg("the isolation report says nothing about '%s'", name);
	return enforced;
}

/* End the test here when this machine and user do not have what it is about. */
static void need(struct sandbox *s, const char *name)
{
	const char *strict = getenv("SBX_TEST_STRICT");

	if (is_enforced(s, name))
		return;
	close_sandbox(s);
	if (geteuid() == 0 && strict != NULL && strcmp(strict, "1") == 0)
		fail_msg("%s is promised here", name);
	skip();
}

static void still_works(struct sandbox *s)
{
	must_hold(attack(s, "harmless"));
}

/* The test of most attacks: state is its name. */
static void attack_fails(void **state)
{
	struct sandbox s = open_sandbox();

	must_hold(attack(&s, *state));
	close_sandbox(&s);
}

/* The root of a container is the image's as it is; no-new-privileges and its list of devices hold there. */
static void mounts_hold_no_devices_and_no_set_user_id(void **state)
{
	test_need_native("an engine mounts what is its own as the image has it");
	*state = (void *)(uintptr_t)"mount-options";
	attack_fails(state);
}

static void every_call_left_out_gives_its_error(void **state)
{
	struct sandbox s = open_sandbox();

	(void)state;
	for (size_t i = 0; i < COUNT(seccomp_left_out); i++) {
		const struct seccomp_omission *group = &seccomp_left_out[i];
		const char *args[3 * 32 + 2] = {"numbers"};
		char text[32][2][16];
		size_t n = 0;

		for (size_t k = 0; group->names[k] != NULL; k++) {
			int number = seccomp_syscall_resolve_name(group->names[k]);

			if (number < 0)
				continue;
			assert_true(n < 32);
			snprintf(text[n][0], sizeof(text[n][0]), "%d", number);
			snprintf(text[n][1], sizeof(text[n][1]), "%d", group->error);
			args[3 * n + 1] = group->names[k];
			args[3 * n + 2] = text[n][0];
			args[3 * n + 3] = text[n][1];
			n++;
		}
		must_hold(attack_argv(&s, args));
	}
	close_sandbox(&s);
}

static void the_agent_has_another_user(void **state)
{
	struct sandbox s = open_sandbox();

	(void)state;
	need(&s, "separate user");
	must_hold(attack(&s, "become-root"));
	close_sandbox(&s);
}

static void signals_to_all_leave_the_agent_alive(void **state)
{
	struct sandbox s = open_sandbox();

	(void)state;
	must_hold(attack(&s, "kill-everything"));
	still_works(&s);
	close_sandbox(&s);
}

static void processes_of_the_host_have_no_number_inside(void **state)
{
	struct sandbox s = open_sandbox();
	char pid[16];

	(void)state;
	snprintf(pid, sizeof(pid), "%d", getpid());
	must_hold(attack(&s, "signal-outside", pid));
	must_hold(attack(&s, "lonely"));
	close_sandbox(&s);
}

static void the_environment_of_the_host_is_not_handed_in(void **state)
{
	struct sandbox s;

	(void)state;
	setenv("ESCAPE_MARK", "host-secret-4711", 1);
	s = open_sandbox();
	must_hold(attack(&s, "environment", "host-secret-4711"));
	close_sandbox(&s);
	unsetenv("ESCAPE_MARK");
}

/* An image has folders of its own where this machine has some. */
static struct sbx_result *look_for(struct sandbox *s, const char *path)
{
	const char *argv[] = {"/bin/sh", "-c", "test ! -e \"$1\"", "sh", path, NULL};
	struct sbx_command command = {.argv = argv};
	struct sbx_result *result;

	check(sbx_session_exec(s->session, &command, &result, &error));
	return result;
}

static void files_of_the_host_are_not_there(void **state)
{
	char folder[] = "/tmp/escape-XXXXXX", file[64];
	struct sandbox s;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/mark", folder);
	f = fopen(file, "we");
	assert_non_null(f);
	fclose(f);
	s = open_sandbox();
	must_hold(test_has_image() ? look_for(&s, folder) : attack(&s, "host-files", folder, file));
	close_sandbox(&s);
	unlink(file);
	rmdir(folder);
}

/* ---- network ---- */

static void the_loopback_of_the_host_is_another(void **state)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
	socklen_t len = sizeof(here);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sandbox s = open_sandbox();
	char port[16];

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&here, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&here, &len), 0);
	snprintf(port, sizeof(port), "%u", ntohs(here.sin_port));
	must_hold(attack(&s, "host-loopback", port));
	close_sandbox(&s);
	close(fd);
}

static void abstract_sockets_of_the_host_are_out_of_reach(void **state)
{
	struct sockaddr_un here = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int len = snprintf(here.sun_path + 1, sizeof(here.sun_path) - 1, "escape-%d", getpid());
	struct sandbox s = open_sandbox();

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&here,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) +
				      (socklen_t)len), 0);
	assert_int_equal(listen(fd, 1), 0);
	must_hold(attack(&s, "host-abstract", here.sun_path + 1));
	close_sandbox(&s);
	close(fd);
}

/* ---- two sandboxes at once ---- */

struct neighbour {
	struct sandbox s;
	struct sbx_cancel *cancel;
	struct sbx_result *result;
	int r;
	struct sbx_error error;
	int ready[2];
};

static void neighbour_output(const void *data, size_t len, void *userdata)
{
	struct neighbour *n = userdata;

	if (write(n->ready[1], data, len) < 0)
		abort();
}

static void *neighbour_run(void *userdata)
{
	struct neighbour *n = userdata;
	const char *const argv[] = {"/attack", "mark-and-wait", "neighbour", NULL};
	struct sbx_command command = {
		.argv = argv,
		.io = {.on_stdout = neighbour_output, .userdata = n, .cancel = n->cancel},
	};

	n->r = sbx_session_exec(n->s.session, &command, &n->result, &n->error);
	close(n->ready[1]); /* also when it never got ready: nobody waits for ever */
	return NULL;
}

static void a_sandbox_sees_nothing_of_another(void **state)
{
	struct neighbour n = {.s = open_sandbox()};
	struct sandbox s = open_sandbox();
	struct sbx_result *seen;
	pthread_t thread;
	char byte = 0;

	(void)state;
	check(sbx_cancel_new(&n.cancel, &error));
	assert_int_equal(pipe(n.ready), 0);
	assert_int_equal(pthread_create(&thread, NULL, neighbour_run, &n), 0);
	assert_int_equal(read(n.ready[0], &byte, 1), 1);
	assert_int_equal(byte, 'r');
	seen = attack(&s, "see-marks", "neighbour");
	sbx_cancel_kill(n.cancel);
	pthread_join(thread, NULL);
	assert_int_equal(n.r, 0);
	assert_int_equal(n.result->reason, SBX_CANCELLED);
	must_hold(seen);
	sbx_result_free(n.result);
	sbx_cancel_free(n.cancel);
	close(n.ready[0]);
	close_sandbox(&n.s);
	close_sandbox(&s);
}

/* ---- bombs ---- */

static void a_memory_bomb_ends_in_its_own_sandbox(void **state)
{
	struct sandbox s = prepare();
	struct sbx_result *result;

	(void)state;
	limit(&s, SBX_LIMIT_MEMORY_BYTES, 64 * MIB);
	start(&s);
	need(&s, "memory limit");
	result = attack(&s, "memory", "256");
	assert_int_equal(result->reason, SBX_MEMORY);
	assert_true(result->message[0] != '\0');
	sbx_result_free(result);
	still_works(&s);
	close_sandbox(&s);
}

static void a_pid_bomb_stops_at_the_limit(void **state)
{
	struct sandbox s = prepare();

	(void)state;
	limit(&s, SBX_LIMIT_PROCESSES, 32);
	start(&s);
	must_hold(attack(&s, "processes", "32"));
	still_works(&s);
	close_sandbox(&s);
}

static void an_endless_fork_bomb_ends_with_its_time(void **state)
{
	struct sandbox s = prepare();
	struct sbx_result *result;

	(void)state;
	limit(&s, SBX_LIMIT_PROCESSES, 64);
	limit(&s, SBX_LIMIT_WALL_MS, 300);
	start(&s);
	result = attack(&s, "fork-bomb");
	assert_int_equal(result->reason, SBX_TIMEOUT);
	assert_true(result->processes_killed > 1);
	sbx_result_free(result);
	close_sandbox(&s);
}

static void a_disk_bomb_meets_a_full_disk(void **state)
{
	struct sandbox s = prepare();

	(void)state;
	limit(&s, SBX_LIMIT_DISK_BYTES, 16 * MIB);
	start(&s);
	/* In a container each of the folders has the limit; together they are within that of memory. */
	must_hold(attack(&s, "disk", test_has_image() ? "64" : "16"));
	close_sandbox(&s);
}

static void files_without_content_are_counted_too(void **state)
{
	struct sandbox s = prepare();
	struct sbx_result *result;

	(void)state;
	limit(&s, SBX_LIMIT_DISK_BYTES, 4 * MIB);
	/* In a container they count as memory alone. */
	if (test_has_image())
		limit(&s, SBX_LIMIT_MEMORY_BYTES, 64 * MIB);
	start(&s);
	if (test_has_image())
		need(&s, "memory limit");
	result = attack(&s, "inodes", "200000");
	if (result->reason == SBX_MEMORY)
		sbx_result_free(result);
	else
		must_hold(result);
	close_sandbox(&s);
}

static void a_spinning_program_uses_up_its_cpu_time(void **state)
{
	struct sandbox s = prepare();
	struct sbx_result *result;

	(void)state;
	limit(&s, SBX_LIMIT_CPU_MS, 1000);
	start(&s);
	result = attack(&s, "spin");
	assert_int_equal(result->reason, SBX_CPU_LIMIT);
	sbx_result_free(result);
	still_works(&s);
	close_sandbox(&s);
}

/* ---- programs that do not go away ---- */

static void daemons_with_hostile_names_die_with_the_run(void **state)
{
	struct sandbox s = open_sandbox();
	struct sbx_result *result = attack(&s, "daemons");

	(void)state;
	assert_int_equal(result->processes_killed, 5);
	must_hold(result);
	must_hold(attack(&s, "lonely"));
	close_sandbox(&s);
}

static void a_program_that_ignores_everything_is_killed(void **state)
{
	struct sandbox s = prepare();
	struct sbx_result *result;

	(void)state;
	limit(&s, SBX_LIMIT_WALL_MS, 200);
	start(&s);
	result = attack(&s, "ignore-all");
	assert_int_equal(result->reason, SBX_TIMEOUT);
	sbx_result_free(result);
	still_works(&s);
	close_sandbox(&s);
}

static void a_crash_leaves_no_core_file(void **state)
{
	struct sandbox s = open_sandbox();
	struct sbx_result *result = attack(&s, "crash");

	(void)state;
	assert_int_equal(result->reason, SBX_SIGNALLED);
	assert_int_equal(result->signal, SIGABRT);
	sbx_result_free(result);
	must_hold(attack(&s, "no-core"));
	must_hold(attack(&s, "core-limit"));
	close_sandbox(&s);
}

/* ---- traps on the host's way ---- */

static char *text_of(struct sandbox *s, const char *path)
{
	struct sbx_result *result = attack(s, "print", path);
	char *text = strdup(result->out.data);

	assert_int_equal(result->exit_code, 0);
	sbx_result_free(result);
	return text;
}

/*
 * Links at every path that the next run of this session writes. That run may fail, and it may
 * replace them; it must not write where they point, for it writes with other rights.
 */
static void links_planted_in_the_way_are_not_followed(void **state)
{
	static const char code[] = "print('written by the host')\n";
	static const char *const targets[] = {"/etc/passwd", "/proc/1/environ", "/usr/bin/env",
					      "/attack", "/proc/self/exe", "/dev/full"};
	struct sandbox s = open_sandbox();
	char *before = text_of(&s, "/etc/passwd");

	(void)state;
	for (size_t i = 0; i < COUNT(targets); i++) {
		struct sbx_run run = {.language = "python", .code = code, .code_len = sizeof(code) - 1};
		struct sbx_result *result = NULL;

		must_hold(attack(&s, "plant", "/sandbox/main.py", targets[i], "/sandbox/out",
				 targets[i], "/tmp/.llm-sandbox-2", targets[i],
				 "/tmp/.llm-sandbox-3", targets[i], "/tmp/.llm-sandbox-4",
				 targets[i], "/home/sandbox/.cache", targets[i]));
		if (sbx_session_run(s.session, &run, &result, &error) == 0)
			sbx_result_free(result);
		must_hold(attack(&s, "holds", "/etc/passwd", before));
		still_works(&s);
	}
	free(before);
	close_sandbox(&s);
}

static void a_planted_build_folder_does_not_reach_outside(void **state)
{
	static const char code[] = "int main() { return 0; }\n";
	char folder[] = "/tmp/escape-XXXXXX";
	struct sandbox s;

	(void)state;
	assert_non_null(mkdtemp(folder));
	s = open_sandbox();
	for (int i = 0; i < 2; i++) {
		struct sbx_run run = {.language = "cpp", .code = code, .code_len = sizeof(code) - 1};
		struct sbx_result *result = NULL;

		must_hold(attack(&s, "plant", "/tmp/.llm-sandbox-2", folder, "/tmp/.llm-sandbox-4",
				 folder, "/sandbox/main.cpp", "/usr/bin/env"));
		if (sbx_session_run(s.session, &run, &result, &error) == 0)
			sbx_result_free(result);
	}
	assert_int_equal(rmdir(folder), 0); /* nothing was put in it */
	close_sandbox(&s);
}

#define ATTACK(promise, name) {promise, attack_fails, NULL, NULL, (void *)(uintptr_t)(name)}

static const struct CMUnitTest tests[] = {
	ATTACK("what_every_program_does_still_works", "harmless"),
	cmocka_unit_test(every_call_left_out_gives_its_error),
	ATTACK("unknown_calls_do_not_exist", "unknown-numbers"),
	ATTACK("nothing_can_be_mounted", "mounts"),
	ATTACK("no_namespace_can_be_made_or_entered", "namespaces"),
	ATTACK("calls_of_foreign_abis_are_not_served", "foreign-abis"),
	ATTACK("terminals_cannot_be_typed_into", "terminals"),
	ATTACK("no_device_node_can_be_made", "devices"),
	ATTACK("a_program_stays_what_it_is", "oneself"),
	ATTACK("only_harmless_sockets_can_be_made", "sockets"),
	ATTACK("no_process_can_be_debugged", "debugging"),
	ATTACK("the_agent_is_closed_in_proc", "agent-through-proc"),
	ATTACK("only_three_descriptors_are_open", "descriptors"),
	ATTACK("no_capability_is_left_and_the_user_is_1000", "status"),
	ATTACK("the_securebits_are_locked", "securebits"),
	ATTACK("set_user_id_files_raise_nothing", "setuid-files"),
	ATTACK("root_cannot_be_become", "become-root"),
	ATTACK("settings_of_the_kernel_cannot_be_written", "kernel-settings"),
	ATTACK("secrets_of_the_kernel_cannot_be_read", "kernel-secrets"),
	ATTACK("the_system_is_read_only", "read-only-system"),
	ATTACK("the_running_program_cannot_be_overwritten", "own-program"),
	ATTACK("the_agent_of_a_container_cannot_be_changed", "agent-folder"),
	ATTACK("no_engine_can_be_spoken_to", "engine-sockets"),
	ATTACK("only_harmless_devices_are_there", "device-nodes"),
	cmocka_unit_test(mounts_hold_no_devices_and_no_set_user_id),
	ATTACK("no_cgroup_can_be_written", "release-agent"),
	ATTACK("the_loopback_is_the_only_interface", "only-loopback"),
	cmocka_unit_test(the_agent_has_another_user),
	cmocka_unit_test(signals_to_all_leave_the_agent_alive),
	cmocka_unit_test(processes_of_the_host_have_no_number_inside),
	cmocka_unit_test(the_environment_of_the_host_is_not_handed_in),
	cmocka_unit_test(files_of_the_host_are_not_there),
	cmocka_unit_test(the_loopback_of_the_host_is_another),
	cmocka_unit_test(abstract_sockets_of_the_host_are_out_of_reach),
	cmocka_unit_test(a_sandbox_sees_nothing_of_another),
	cmocka_unit_test(a_memory_bomb_ends_in_its_own_sandbox),
	cmocka_unit_test(a_pid_bomb_stops_at_the_limit),
	cmocka_unit_test(an_endless_fork_bomb_ends_with_its_time),
	cmocka_unit_test(a_disk_bomb_meets_a_full_disk),
	cmocka_unit_test(files_without_content_are_counted_too),
	cmocka_unit_test(a_spinning_program_uses_up_its_cpu_time),
	cmocka_unit_test(daemons_with_hostile_names_die_with_the_run),
	cmocka_unit_test(a_program_that_ignores_everything_is_killed),
	cmocka_unit_test(a_crash_leaves_no_core_file),
	cmocka_unit_test(links_planted_in_the_way_are_not_followed),
	cmocka_unit_test(a_planted_build_folder_does_not_reach_outside),
};

int main(void)
{
	if (getenv("SBX_ATTACK") == NULL) {
		fprintf(stderr, "escape-test: SBX_ATTACK must name the program of the attacks\n");
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
