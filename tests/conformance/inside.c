/* SPDX-License-Identifier: MIT */
/* What only a real sandbox promises: its limits, what it looks like inside, and its report. */
#include "support/sandbox.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- limits ---- */

static void the_memory_limit_ends_the_program_and_is_named(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_set_limit(t, SBX_LIMIT_MEMORY_BYTES, 128 * MIB);
	r = test_run(t, "python",
		     "print('begun', flush=True)\n"
		     "x = []\n"
		     "while True: x.append(bytearray(8 << 20))\n");
	assert_string_equal(r->out.data, "begun\n");
	assert_int_not_equal(r->exit_code, 0);
	assert_true(r->peak_memory_bytes < 160 * MIB);
	if (!test_is_enforced(r, "memory limit")) {
		assert_int_equal(r->reason, SBX_EXITED);
		assert_non_null(strstr(r->errout.data, "MemoryError"));
		return;
	}
	assert_int_equal(r->reason, SBX_MEMORY);
	assert_int_equal(r->exit_code, 128 + SIGKILL);
	assert_non_null(strstr(r->message, "memory limit"));
}

static void files_in_memory_count_as_memory_or_disk(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_set_limit(t, SBX_LIMIT_MEMORY_BYTES, 64 * MIB);
	test_set_limit(t, SBX_LIMIT_DISK_BYTES, 32 * MIB);
	r = test_shell(t, "for f in /tmp /sandbox /dev/shm /home/sandbox; do "
			  "head -c 200000000 /dev/zero > $f/big; done; "
			  "cat /tmp/big /sandbox/big /dev/shm/big /home/sandbox/big | wc -c");
	if (r->reason == SBX_EXITED)
		assert_true(strtoull(r->out.data, NULL, 10) <= 4 * 33 * MIB);
	else
		assert_int_equal(r->reason, SBX_MEMORY);
}

static void a_full_disk_is_an_error_inside_and_nothing_more(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_set_limit(t, SBX_LIMIT_DISK_BYTES, 4 * MIB);
	r = test_shell(t, "head -c 100000000 /dev/zero > /sandbox/big; echo code $?; rm big; "
			  "echo small > /sandbox/small && cat /sandbox/small");
	assert_non_null(strstr(r->errout.data, "No space left on device"));
	assert_string_equal(r->out.data, "code 1\nsmall\n");
}

static void the_process_limit_holds(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_set_limit(t, SBX_LIMIT_PROCESSES, 20);
	r = test_run(t, "python",
		     "import os, signal\n"
		     "n = 0\n"
		     "try:\n"
		     "    while n < 500:\n"
		     "        if os.fork() == 0: signal.pause()\n"
		     "        n += 1\n"
		     "except OSError as e: print(type(e).__name__)\n"
		     "print(n)\n");
	assert_memory_equal(r->out.data, "BlockingIOError\n", 16);
	assert_in_range(strtoul(r->out.data + 16, NULL, 10), 5, 20);
	assert_true(r->processes_killed > 0);
	assert_int_equal(test_shell(t, "true")->exit_code, 0);
}

static void the_open_file_limit_holds(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_set_limit(t, SBX_LIMIT_OPEN_FILES, 32);
	r = test_run(t, "python",
		     "f = []\n"
		     "try:\n"
		     "    while len(f) < 500: f.append(open('/dev/null'))\n"
		     "except OSError as e: print(e.errno, len(f) < 32)\n");
	assert_string_equal(r->out.data, "24 True\n");
}

static void no_core_file_is_written(void **state)
{
	const struct sbx_result *r = test_shell(
		*state, "ulimit -c; sh -c 'kill -SEGV $$'; ls -A | grep -c core; true");

	assert_string_equal(r->out.data, "0\n0\n");
}

/* ---- the place ---- */

/* Case 31. */
static void a_program_starts_in_the_work_folder(void **state)
{
	const struct sbx_result *r = test_run(*state, "python", "import os\nprint(os.getcwd())\n");

	assert_string_equal(r->out.data, "/sandbox\n");
}

static void a_work_folder_of_ones_own_is_made(void **state)
{
	struct test_sandbox *t = *state;

	assert_int_equal(sbx_spec_set_workdir(t->spec, "/tmp/deep/work", NULL), 0);
	assert_string_equal(test_shell(t, "pwd; touch here")->out.data, "/tmp/deep/work\n");
}

/* Whether a number has a name is a matter of the image's /etc/passwd. */
static void a_program_is_the_sandbox_user_without_privilege(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	if (!test_has_image())
		assert_string_equal(test_shell(t, "id -un")->out.data, "sandbox\n");
	r = test_shell(t, "id -u; umask; grep -E '^(CapEff|CapBnd|CapPrm|CapAmb)' "
			"/proc/self/status | cut -f2 | sort -u; grep NoNewPrivs /proc/self/status | "
			"cut -f2");

	assert_string_equal(r->out.data, "1000\n0022\n0000000000000000\n1\n");
}

static void the_system_is_read_only_and_own_folders_are_not(void **state)
{
	const struct sbx_result *r =
		test_shell(*state, "for d in / /usr /usr/bin /etc /proc/sys/kernel; do "
				   "touch $d/new 2>/dev/null && echo wrote $d; done; "
				   "for d in /sandbox /tmp /dev/shm /home/sandbox; do "
				   "touch $d/new || echo no $d; done");

	assert_string_equal(r->out.data, "");
	assert_string_equal(r->errout.data, "");
}

/* Tools refuse to work in a folder that others could change. */
static void work_folder_and_home_are_the_users_own(void **state)
{
	const struct sbx_result *r =
		test_shell(*state, "for d in /sandbox /home/sandbox; do test -O $d -a ! -k $d || echo $d; done");

	assert_string_equal(r->out.data, "");
}

static void there_is_no_network_but_loopback(void **state)
{
	const struct sbx_result *r = test_run(*state, "python",
					      "import socket\n"
					      "print([n for i, n in socket.if_nameindex()])\n"
					      "s = socket.create_server(('127.0.0.1', 0))\n"
					      "c = socket.create_connection(s.getsockname())\n"
					      "print('connected')\n"
					      "try: socket.create_connection(('192.0.2.1', 80), 2)\n"
					      "except OSError as e: print(e.errno)\n");

	assert_string_equal(r->out.data, "['lo']\nconnected\n101\n");
}

static void a_mount_is_read_only_unless_it_says_writable(void **state)
{
	struct test_sandbox *t = *state;
	char folder[] = "/tmp/sbx-test-XXXXXX", path[64], inside[16] = "";
	const struct sbx_result *r;
	FILE *f;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/given", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("given\n", f);
	fclose(f);
	assert_int_equal(sbx_spec_add_mount(t->spec, folder, "/data", false, NULL), 0);
	assert_int_equal(sbx_spec_add_mount(t->spec, folder, "/work", true, NULL), 0);
	r = test_shell(t, "cat /data/given; touch /data/new 2>/dev/null && echo bad; "
			  "echo changed > /work/given; cat /data/given");
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(inside, sizeof(inside), f));
	fclose(f);
	unlink(path);
	rmdir(folder);
	for (size_t i = 0; i < r->isolation_count; i++) {
		if (strcmp(r->isolation[i].name, "mount owners") == 0)
			test_skip_promised(r->isolation[i].detail);
	}
	assert_string_equal(r->out.data, "given\nchanged\n");
	assert_string_equal(inside, "changed\n");
}

static void the_plan_of_a_sandbox_can_be_read(void **state)
{
	struct test_sandbox *t = *state;
	char *plan = NULL;

	assert_int_equal(sbx_spec_print_plan(t->spec, &plan, NULL), 0);
	assert_non_null(strstr(plan, test_has_image() ? "\"Image\"" : "/usr"));
	assert_non_null(strstr(plan, test_has_image() ? "CapDrop" : "proc"));
	free(plan);
}

/* ---- the report ---- */

static void expect_enforced(const struct sbx_result *r, const char *name)
{
	if (!test_is_enforced(r, name))
		fail_msg("the isolation report does not say that '%s' is enforced", name);
}

static void every_fence_is_reported_as_enforced(void **state)
{
	static const char *const always[] = {"root file system", "proc",    "devices",
					     "network",		 "seccomp", "capabilities"};
	/* Which numbers programs have on an engine's machine is a matter of its set-up. */
	static const char *const as_root[] = {"memory limit", "host ids"};
	size_t count = test_has_image() ? 1 : 2;
	const struct sbx_result *r = test_shell(*state, "true");

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		expect_enforced(r, always[i]);
	for (size_t i = 0; geteuid() == 0 && i < count; i++)
		expect_enforced(r, as_root[i]);
}

/* As root nothing may be missing but what this kernel lacks, and then the line says why. */
static void what_is_missing_says_why(void **state)
{
	const struct sbx_result *r = test_shell(*state, "true");

	assert_true(r->isolation_count >= 8);
	for (size_t i = 0; i < r->isolation_count; i++) {
		assert_true(r->isolation[i].name[0] != '\0');
		assert_true(r->isolation[i].detail[0] != '\0');
		if (geteuid() == 0 && r->isolation[i].status == SBX_MISSING)
			print_message("# missing: %s: %s\n", r->isolation[i].name,
				      r->isolation[i].detail);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sandbox_test(the_memory_limit_ends_the_program_and_is_named),
		sandbox_test(files_in_memory_count_as_memory_or_disk),
		sandbox_test(a_full_disk_is_an_error_inside_and_nothing_more),
		sandbox_test(the_process_limit_holds),
		sandbox_test(the_open_file_limit_holds),
		sandbox_test(no_core_file_is_written),
		sandbox_test(a_program_starts_in_the_work_folder),
		sandbox_test(a_work_folder_of_ones_own_is_made),
		sandbox_test(a_program_is_the_sandbox_user_without_privilege),
		sandbox_test(the_system_is_read_only_and_own_folders_are_not),
		sandbox_test(work_folder_and_home_are_the_users_own),
		sandbox_test(there_is_no_network_but_loopback),
		sandbox_test(a_mount_is_read_only_unless_it_says_writable),
		sandbox_test(the_plan_of_a_sandbox_can_be_read),
		sandbox_test(every_fence_is_reported_as_enforced),
		sandbox_test(what_is_missing_says_why),
	};

	return cmocka_run_group_tests_name("inside", tests, NULL, NULL);
}
