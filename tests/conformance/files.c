/* SPDX-License-Identifier: MIT */
/* Files in and out of a session, and what hostile ones must not do. */
#include "support/sandbox.h"

#include <llmsandbox/files.h>

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a folder of this machine for each test ---- */

static char folder[64];

static int set_up(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/sbx-files-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	return test_sandbox_setup(state);
}

static int tear_down(void **state)
{
	sbx_remove_tree(folder);
	return test_sandbox_teardown(state);
}

#define files_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* The path of a file in it; the last few such paths stay. */
static const char *host(const char *name)
{
	static char paths[8][512];
	static unsigned int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void write_host(const char *name, const void *data, size_t len)
{
	int fd = open(host(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(sbx_write_all(fd, data, len), 0);
	close(fd);
}

static void assert_host(const char *name, const void *data, size_t len)
{
	char *text = NULL;
	struct sbx_error err;
	size_t got;

	if (sbx_read_file(AT_FDCWD, host(name), 64 * MIB, &text, &got, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(got, len);
	assert_memory_equal(text, data, len);
	free(text);
}

static bool on_host(const char *name)
{
	struct stat st;

	return lstat(host(name), &st) == 0;
}

static mode_t host_mode(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(host(name), &st), 0);
	return st.st_mode & 07777;
}

/* ---- calls that must work, or fail with a code ---- */

static struct sbx_copy_report put(struct test_sandbox *t, const char *from, const char *to)
{
	struct sbx_copy_report report;
	struct sbx_error err;

	if (sbx_session_put(test_session(t), from, to, NULL, &report, &err) < 0)
		fail_msg("%s", err.msg);
	return report;
}

static struct sbx_copy_report get(struct test_sandbox *t, const char *from, const char *to)
{
	struct sbx_copy_report report;
	struct sbx_error err;

	if (sbx_session_get(test_session(t), from, to, NULL, &report, &err) < 0)
		fail_msg("%s", err.msg);
	return report;
}

static struct sbx_error last_error;

static enum sbx_code put_fails(struct test_sandbox *t, const char *from, const char *to)
{
	assert_true(sbx_session_put(test_session(t), from, to, NULL, NULL, &last_error) < 0);
	return last_error.code;
}

static enum sbx_code get_fails(struct test_sandbox *t, const char *from, const char *to)
{
	assert_true(sbx_session_get(test_session(t), from, to, NULL, NULL, &last_error) < 0);
	return last_error.code;
}

static void write_inside(struct test_sandbox *t, const char *path, const char *text,
			 enum sbx_write_mode mode)
{
	struct sbx_error err;

	if (sbx_session_write_file(test_session(t), path, text, strlen(text), mode, &err) < 0)
		fail_msg("%s", err.msg);
}

static enum sbx_code write_fails(struct test_sandbox *t, const char *path, const char *text,
				 enum sbx_write_mode mode)
{
	assert_true(sbx_session_write_file(test_session(t), path, text, strlen(text), mode,
					   &last_error) < 0);
	return last_error.code;
}

/* A small file of the sandbox; the text is valid until the next call. */
static const char *read_inside(struct test_sandbox *t, const char *path)
{
	static char text[4096];
	struct sbx_error err;
	char *data = NULL;
	size_t len;

	if (sbx_session_read_file(test_session(t), path, 0, sizeof(text) - 1, &data, &len, NULL,
				  &err) < 0)
		fail_msg("%s", err.msg);
	memcpy(text, data, len + 1);
	free(data);
	return text;
}

/* The session goes on as if nothing had been. */
static void assert_usable(struct test_sandbox *t)
{
	assert_string_equal(test_shell(t, "echo lives")->out.data, "lives\n");
}

static void sh(struct test_sandbox *t, const char *script)
{
	const struct sbx_result *r = test_shell(t, script);

	if (r->exit_code != 0)
		fail_msg("'%s' ended with %d: %s", script, r->exit_code, r->errout.data);
}

/* ---- in and out ---- */

/* Case 35. */
static void a_file_goes_in_and_comes_back_byte_for_byte(void **state)
{
	static const char text[] = "a\0b\xff\n\r\n";
	struct sbx_copy_report report;

	write_host("in", text, sizeof(text));
	report = put(*state, host("in"), "a/b.txt");
	assert_int_equal(report.files, 1);
	assert_int_equal(report.bytes, sizeof(text));
	report = get(*state, "a/b.txt", host("out"));
	assert_int_equal(report.files, 1);
	assert_int_equal(report.bytes, sizeof(text));
	assert_host("out", text, sizeof(text));
	assert_string_equal(test_shell(*state, "stat -c %a a")->out.data, "755\n");
}

/* Case 36. */
static void a_tree_goes_in_and_comes_back_the_same(void **state)
{
	struct sbx_copy_report in, out;
	char line[512];

	mkdir(host("tree"), 0755);
	mkdir(host("tree/empty folder"), 0755);
	mkdir(host("tree/d"), 0755);
	mkdir(host("tree/d/e"), 0700);
	write_host("tree/d/e/deep", "deep", 4);
	write_host("tree/d/empty", "", 0);
	write_host("tree/run me", "#!/bin/sh\n", 10);
	chmod(host("tree/run me"), 0755);
	write_host("tree/new\nline \xff", "odd", 3);

	in = put(*state, host("tree"), "copy");
	out = get(*state, "copy", host("back"));
	assert_int_equal(in.files, 4);
	assert_int_equal(in.folders, 4);
	assert_memory_equal(&in, &out, sizeof(in));
	snprintf(line, sizeof(line), "diff -r %s %s", host("tree"), host("back"));
	assert_int_equal(system(line), 0);
	assert_int_equal(host_mode("back/run me"), 0755);
	assert_int_equal(host_mode("back/d/empty"), 0644);
	assert_int_equal(host_mode("back/d/e"), 0700);
}

/* Case 37. */
static void a_path_that_climbs_is_denied_and_nothing_is_written(void **state)
{
	struct test_sandbox *t = *state;
	static const char *const paths[] = {"/sandbox/../tmp/x", "../x", "a/../b", "..", "/.."};

	write_host("in", "x", 1);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_int_equal(put_fails(t, host("in"), paths[i]), SBX_E_DENIED);
		assert_int_equal(write_fails(t, paths[i], "x", SBX_WRITE_REPLACE), SBX_E_DENIED);
		assert_int_equal(get_fails(t, paths[i], host("out")), SBX_E_DENIED);
	}
	assert_string_equal(test_shell(t, "ls -A")->out.data, "");
}

/* Case 38. */
static void a_missing_file_is_not_found_on_both_sides(void **state)
{
	struct test_sandbox *t = *state;

	assert_int_equal(put_fails(t, host("missing"), "x"), SBX_E_NOT_FOUND);
	assert_non_null(strstr(last_error.msg, "missing"));
	assert_int_equal(get_fails(t, "missing", host("out")), SBX_E_NOT_FOUND);
	assert_non_null(strstr(last_error.msg, "missing"));
	assert_false(on_host("out"));
	write_inside(t, "there", "x", SBX_WRITE_REPLACE);
	assert_int_equal(get_fails(t, "there", host("no/such/folder")), SBX_E_NOT_FOUND);
	assert_usable(t);
}

/* Case 39. */
static void an_empty_file_comes_out(void **state)
{
	sh(*state, ": > empty");
	get(*state, "empty", host("out"));
	assert_host("out", "", 0);
}

/* Case 40. */
static void a_link_in_a_tree_is_left_out_and_the_rest_is_there(void **state)
{
	struct sbx_copy_report report;

	sh(*state, "mkdir d d/sub; echo one > d/one; ln -s /etc/passwd d/link; ln -s /etc d/etc;"
		   "ln -s one d/inner; echo two > d/sub/two");
	report = get(*state, "d", host("out"));
	assert_int_equal(report.files, 2);
	assert_int_equal(report.left_out, 3);
	assert_true(strlen(report.first_left_out) > 0);
	assert_host("out/one", "one\n", 4);
	assert_host("out/sub/two", "two\n", 4);
	assert_false(on_host("out/link"));
	assert_false(on_host("out/etc"));
	assert_false(on_host("out/inner"));
}

/* Case 41. */
static void set_id_bits_and_special_files_do_not_come_out(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_copy_report report;

	sh(t, "mkdir d; echo x > d/suid; chmod 6777 d/suid; chmod 2777 d; mkfifo d/fifo;"
	      "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"d/socket\")'");
	assert_int_equal(get_fails(t, "d/fifo", host("fifo")), SBX_E_INVALID);
	assert_false(on_host("fifo"));
	assert_true(get_fails(t, "/dev/zero", host("zero")) != SBX_OK);
	get(t, "d/suid", host("suid"));
	assert_int_equal(host_mode("suid"), 0755);
	report = get(t, "d", host("out"));
	assert_int_equal(report.left_out, 2);
	assert_int_equal(host_mode("out/suid"), 0755);
	assert_int_equal(host_mode("out"), 0755);
	assert_false(on_host("out/fifo"));
}

/* ---- single files ---- */

static void a_file_is_written_replaced_and_read_in_parts(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_error err;
	uint64_t size;
	size_t len;
	char *part;

	write_inside(t, "a/b/c", "first", SBX_WRITE_REPLACE);
	write_inside(t, "a/b/c", "0123456789", SBX_WRITE_REPLACE);
	assert_string_equal(read_inside(t, "a/b/c"), "0123456789");
	assert_int_equal(
		sbx_session_read_file(test_session(t), "a/b/c", 3, 4, &part, &len, &size, &err), 0);
	assert_int_equal(len, 4);
	assert_int_equal(size, 10);
	assert_string_equal(part, "3456");
	free(part);
	assert_int_equal(
		sbx_session_read_file(test_session(t), "a/b/c", 20, 4, &part, &len, &size, &err), 0);
	assert_int_equal(len, 0);
	assert_string_equal(part, "");
	free(part);
}

static void a_file_is_appended_to_and_made_when_it_is_not_there(void **state)
{
	struct test_sandbox *t = *state;

	write_inside(t, "log", "one\n", SBX_WRITE_APPEND);
	write_inside(t, "log", "two\n", SBX_WRITE_APPEND);
	sh(t, "echo three >> log; chmod 600 log");
	write_inside(t, "log", "four\n", SBX_WRITE_APPEND);
	assert_string_equal(read_inside(t, "log"), "one\ntwo\nthree\nfour\n");
	assert_string_equal(test_shell(t, "stat -c %a log")->out.data, "600\n");
}

static void a_new_file_replaces_nothing(void **state)
{
	struct test_sandbox *t = *state;

	write_inside(t, "new", "one", SBX_WRITE_NEW);
	assert_int_equal(write_fails(t, "new", "two", SBX_WRITE_NEW), SBX_E_INVALID);
	assert_non_null(strstr(last_error.msg, "new"));
	sh(t, "ln -s nowhere link");
	assert_int_equal(write_fails(t, "link", "two", SBX_WRITE_NEW), SBX_E_INVALID);
	assert_string_equal(read_inside(t, "new"), "one");
	assert_string_equal(test_shell(t, "ls -A")->out.data, "link\nnew\n");
}

static void what_is_put_is_the_users_own(void **state)
{
	struct test_sandbox *t = *state;

	write_host("in", "x", 1);
	put(t, host("in"), "d/file");
	sh(t, "[ -O d ] && [ -O d/file ] && echo y >> d/file && rm d/file && rmdir d");
}

static void names_are_listed_in_the_order_of_their_bytes(void **state)
{
	struct test_sandbox *t = *state;
	static const char *const all[] = {"a", "a/z", "a/z/1", "b\n\xff", "c"};
	struct sbx_file_info *files;
	struct sbx_error err;
	size_t count;

	sh(t, "mkdir -p a/z; echo x > a/z/1; printf 'b\\n\\377' | xargs -0 touch; ln -s / c");
	assert_int_equal(
		sbx_session_list_files(test_session(t), ".", true, 0, &files, &count, &err), 0);
	assert_int_equal(count, 5);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(files[i].path, all[i]);
	assert_int_equal(files[0].kind, SBX_FILE_FOLDER);
	assert_int_equal(files[2].kind, SBX_FILE_REGULAR);
	assert_int_equal(files[2].size, 2);
	assert_int_equal(files[4].kind, SBX_FILE_LINK);
	sbx_files_free(files, count);

	assert_int_equal(
		sbx_session_list_files(test_session(t), "", false, 3, &files, &count, &err), 0);
	assert_int_equal(count, 3);
	sbx_files_free(files, count);
	assert_true(
		sbx_session_list_files(test_session(t), "", false, 2, &files, &count, &err) < 0);
	assert_int_equal(err.code, SBX_E_LIMIT);
	assert_true(
		sbx_session_list_files(test_session(t), "none", false, 2, &files, &count, &err) < 0);
	assert_int_equal(err.code, SBX_E_NOT_FOUND);
	assert_usable(t);
}

static void a_file_is_described_itself_and_not_what_it_leads_to(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_file_info info;
	struct sbx_error err;

	sh(t, "echo hello > file; chmod 640 file; touch -d @1000000000 file; ln -s file link");
	assert_int_equal(sbx_session_stat_file(test_session(t), "file", &info, &err), 0);
	assert_string_equal(info.path, "file");
	assert_int_equal(info.kind, SBX_FILE_REGULAR);
	assert_int_equal(info.mode, 0640);
	assert_int_equal(info.size, 6);
	assert_int_equal(info.mtime_ns, 1000000000ull * 1000000000ull);
	free(info.path);
	assert_int_equal(sbx_session_stat_file(test_session(t), "link", &info, &err), 0);
	assert_int_equal(info.kind, SBX_FILE_LINK);
	free(info.path);
	assert_int_equal(sbx_session_stat_file(test_session(t), ".", &info, &err), 0);
	assert_int_equal(info.kind, SBX_FILE_FOLDER);
	free(info.path);
	assert_true(sbx_session_stat_file(test_session(t), "none", &info, &err) < 0);
	assert_int_equal(err.code, SBX_E_NOT_FOUND);
}

static enum sbx_code remove_inside(struct test_sandbox *t, const char *path, bool deep)
{
	last_error.code = SBX_OK;
	sbx_session_remove_file(test_session(t), path, deep, &last_error);
	return last_error.code;
}

static void a_file_or_with_deep_a_folder_is_removed(void **state)
{
	struct test_sandbox *t = *state;

	sh(t, "mkdir -p d/e/f keep; echo x > d/e/f/g; echo x > file; ln -s keep link; mkdir d/k;"
	      "ln -s ../../keep d/k/link; echo x > keep/x; chmod 0 d/k; chmod 555 d/e");
	assert_int_equal(remove_inside(t, "file", false), SBX_OK);
	assert_int_equal(remove_inside(t, "link", true), SBX_OK);
	assert_int_equal(remove_inside(t, "d", false), SBX_E_INVALID);
	assert_int_equal(remove_inside(t, "d", true), SBX_OK);
	assert_int_equal(remove_inside(t, "d", true), SBX_E_NOT_FOUND);
	assert_string_equal(test_shell(t, "find . | sort")->out.data, ".\n./keep\n./keep/x\n");
	assert_int_equal(remove_inside(t, ".", false), SBX_E_INVALID);
	assert_int_equal(remove_inside(t, ".", true), SBX_OK);
	assert_string_equal(test_shell(t, "find .")->out.data, ".\n");
}

static void a_folder_and_its_parents_are_made_once(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_error err;

	for (int i = 0; i < 2; i++)
		assert_int_equal(sbx_session_make_folder(test_session(t), "a/b//./c/", &err), 0);
	sh(t, "[ -d a/b/c ]; echo x > file");
	assert_true(sbx_session_make_folder(test_session(t), "file/below", &err) < 0);
	assert_int_equal(err.code, SBX_E_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		files_test(a_file_goes_in_and_comes_back_byte_for_byte),
		files_test(a_tree_goes_in_and_comes_back_the_same),
		files_test(a_path_that_climbs_is_denied_and_nothing_is_written),
		files_test(a_missing_file_is_not_found_on_both_sides),
		files_test(an_empty_file_comes_out),
		files_test(a_link_in_a_tree_is_left_out_and_the_rest_is_there),
		files_test(set_id_bits_and_special_files_do_not_come_out),
		files_test(a_file_is_written_replaced_and_read_in_parts),
		files_test(a_file_is_appended_to_and_made_when_it_is_not_there),
		files_test(a_new_file_replaces_nothing),
		files_test(what_is_put_is_the_users_own),
		files_test(names_are_listed_in_the_order_of_their_bytes),
		files_test(a_file_is_described_itself_and_not_what_it_leads_to),
		files_test(a_file_or_with_deep_a_folder_is_removed),
		files_test(a_folder_and_its_parents_are_made_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
