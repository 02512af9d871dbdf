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
	char line[128];

	/* rm(1), because no path is long enough for what a test makes. */
	snprintf(line, sizeof(line), "rm -rf --one-file-system %s", folder);
	return system(line) == 0 ? test_sandbox_teardown(state) : -1;
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
		fail_msg("'%s' ended with %d: %s %s", script, r->exit_code, r->errout.data,
			 r->message);
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

/* ---- hostile ones ---- */

static void no_link_is_written_through_inside(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_error err;

	sh(t, "mkdir -p target d; echo safe > target/file; ln -s target/file link;"
	      "ln -s target folder; ln -s nowhere dangling; ln -s /etc/passwd d/passwd");
	write_inside(t, "link", "new", SBX_WRITE_REPLACE);
	write_inside(t, "dangling", "new", SBX_WRITE_REPLACE);
	write_inside(t, "d/passwd", "new", SBX_WRITE_REPLACE);
	assert_true(write_fails(t, "folder/file", "new", SBX_WRITE_REPLACE) != SBX_OK);
	assert_non_null(strstr(last_error.msg, "folder/file"));
	assert_true(write_fails(t, "folder/fresh", "new", SBX_WRITE_NEW) != SBX_OK);
	assert_true(write_fails(t, "folder/file", "new", SBX_WRITE_APPEND) != SBX_OK);
	assert_true(sbx_session_make_folder(test_session(t), "folder/sub", &err) < 0);
	assert_true(remove_inside(t, "folder/file", true) != SBX_OK);
	sh(t, "ln -s target/file append");
	assert_int_equal(write_fails(t, "append", "new", SBX_WRITE_APPEND), SBX_E_DENIED);
	sh(t, "[ ! -L link ] && [ ! -L dangling ] && [ ! -L d/passwd ] && [ ! -e nowhere ]");
	assert_string_equal(test_shell(t, "cat target/file; ls target")->out.data, "safe\nfile\n");
}

static void a_fifo_inside_holds_nothing_up(void **state)
{
	struct test_sandbox *t = *state;

	sh(t, "mkfifo fifo");
	assert_int_equal(get_fails(t, "fifo", host("out")), SBX_E_INVALID);
	assert_true(write_fails(t, "fifo", "x", SBX_WRITE_APPEND) != SBX_OK);
	write_inside(t, "fifo", "x", SBX_WRITE_REPLACE);
	assert_string_equal(read_inside(t, "fifo"), "x");
}

static void no_link_is_written_through_on_this_machine(void **state)
{
	struct test_sandbox *t = *state;

	write_host("victim", "safe", 4);
	mkdir(host("elsewhere"), 0755);
	mkdir(host("out"), 0755);
	assert_int_equal(symlink(host("victim"), host("link")), 0);
	assert_int_equal(symlink(host("victim"), host("out/file")), 0);
	assert_int_equal(symlink(host("elsewhere"), host("out/sub")), 0);
	assert_int_equal(mkfifo(host("out/fifo"), 0644), 0);
	sh(t, "mkdir -p d/sub; for f in d/file d/fifo d/sub/below; do echo new > $f; done");
	get(t, "d/file", host("link"));
	assert_host("link", "new\n", 4);
	get(t, "d", host("out"));
	assert_host("out/file", "new\n", 4);
	assert_host("out/fifo", "new\n", 4);
	assert_host("out/sub/below", "new\n", 4);
	assert_host("victim", "safe", 4);
	assert_false(on_host("elsewhere/below"));

	/* A whole tree goes to a new folder where a link was. */
	assert_int_equal(symlink(host("elsewhere"), host("tree")), 0);
	get(t, "d", host("tree"));
	assert_host("tree/file", "new\n", 4);
	assert_false(on_host("elsewhere/file"));
	write_host("plain", "x", 1);
	assert_true(get_fails(t, "d", host("plain")) != SBX_OK);
	assert_host("plain", "x", 1);
}

static void links_and_special_files_do_not_go_in(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_copy_report report;

	mkdir(host("in"), 0755);
	write_host("in/file", "x", 1);
	assert_int_equal(symlink("/etc/passwd", host("in/link")), 0);
	assert_int_equal(mkfifo(host("in/fifo"), 0644), 0);
	report = put(t, host("in"), "in");
	assert_int_equal(report.files, 1);
	assert_int_equal(report.left_out, 2);
	assert_string_equal(test_shell(t, "ls -A in")->out.data, "file\n");
	assert_int_equal(put_fails(t, host("in/fifo"), "fifo"), SBX_E_INVALID);
	/* A link that the caller names is another thing than one that is found. */
	put(t, host("in/link"), "named");
	sh(t, "[ ! -L named ] && grep -q root named");
}

static void what_cannot_be_read_inside_is_left_out_of_a_tree(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_copy_report report;

	test_need_isolation("its user is root, who can read everything");
	sh(t, "mkdir -p d/closed; echo x > d/closed/in; echo x > d/secret; echo y > d/open;"
	      "chmod 0 d/secret d/closed");
	report = get(t, "d", host("out"));
	assert_int_equal(report.files, 1);
	assert_int_equal(report.left_out, 2);
	assert_host("out/open", "y\n", 2);
	assert_int_equal(get_fails(t, "d/secret", host("secret")), SBX_E_SYSTEM);
	assert_int_equal(last_error.sys_errno, EACCES);
	assert_usable(t);
}

static void names_of_any_bytes_come_out_as_they_are(void **state)
{
	struct test_sandbox *t = *state;
	char name[2] = "x";
	struct sbx_copy_report report;

	sh(t, "mkdir d && cd d && python3 -c '\n"
	      "import os\n"
	      "for i in range(1, 256):\n"
	      "    if i not in (46, 47):\n"
	      "        open(bytes([i]), \"wb\").write(bytes([i]))\n'");
	report = get(t, "d", host("out"));
	assert_int_equal(report.files, 253);
	put(t, host("out"), "again");
	sh(t, "diff -r d again");
	for (int i = 1; i < 256; i++) {
		char path[16];

		name[0] = (char)i;
		if (i == '.' || i == '/')
			continue;
		snprintf(path, sizeof(path), "out/%s", name);
		assert_host(path, name, 1);
	}
}

static void a_deep_tree_is_refused_when_no_path_is_long_enough_and_removed(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_file_info *files;
	struct sbx_error err;
	size_t count;

	sh(t, "python3 -c '\n"
	      "import os\n"
	      "os.mkdir(\"d\"); os.chdir(\"d\")\n"
	      "for i in range(3000):\n"
	      "    os.mkdir(\"x\"); open(\"f\", \"w\").close(); os.chdir(\"x\")\n'");
	assert_int_equal(get_fails(t, "d", host("out")), SBX_E_LIMIT);
	assert_true(sbx_session_list_files(test_session(t), "d", true, 0, &files, &count, &err) < 0);
	assert_int_equal(err.code, SBX_E_LIMIT);
	assert_int_equal(remove_inside(t, "d", true), SBX_OK);
	assert_string_equal(test_shell(t, "ls -A")->out.data, "");
}

static void ten_thousand_small_files_go_in_and_out(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_copy_report report;

	sh(t, "mkdir d; cd d; seq 10000 | split -l 1 -a 4 - f");
	report = get(t, "d", host("out"));
	assert_int_equal(report.files, 10000);
	assert_int_equal(report.bytes, 48894);
	report = put(t, host("out"), "again");
	assert_int_equal(report.files, 10000);
	sh(t, "diff -r d again");
	assert_int_equal(remove_inside(t, "d", true), SBX_OK);
}

/* ---- limits, progress, cancel ---- */

struct watch {
	uint64_t done, total, calls, stop_after;
	struct sbx_cancel *cancel;
};

static bool watch_progress(uint64_t done, uint64_t total, const char *path, void *userdata)
{
	struct watch *w = userdata;

	assert_non_null(path);
	assert_true(done >= w->done);
	w->done = done;
	w->total = total;
	w->calls++;
	if (w->cancel != NULL && done > 0)
		sbx_cancel_kill(w->cancel);
	return w->stop_after == 0 || done < w->stop_after;
}

static void fill_host(const char *name, size_t mib)
{
	static char piece[1 << 20];
	int fd = open(host(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	memset(piece, 'x', sizeof(piece));
	for (size_t i = 0; i < mib; i++) {
		piece[0] = (char)i;
		assert_int_equal(sbx_write_all(fd, piece, sizeof(piece)), 0);
	}
	close(fd);
}

static void progress_is_told_and_can_stop_a_copy(void **state)
{
	struct test_sandbox *t = *state;
	struct watch w = {0};
	struct sbx_copy how = {.progress = watch_progress, .userdata = &w};
	struct sbx_error err;

	fill_host("in", 8);
	assert_int_equal(sbx_session_put(test_session(t), host("in"), "in", &how, NULL, &err), 0);
	assert_int_equal(w.done, 8 * MIB);
	assert_int_equal(w.total, 8 * MIB);
	assert_true(w.calls > 8);
	w = (struct watch){.stop_after = MIB};
	assert_true(sbx_session_put(test_session(t), host("in"), "no", &how, NULL, &err) < 0);
	assert_int_equal(err.code, SBX_E_UNAVAILABLE);
	w = (struct watch){.stop_after = MIB};
	assert_true(sbx_session_get(test_session(t), "in", host("no"), &how, NULL, &err) < 0);
	assert_int_equal(err.code, SBX_E_UNAVAILABLE);
	assert_false(on_host("no"));
	assert_string_equal(test_shell(t, "ls -A")->out.data, "in\n");
	get(t, "in", host("out"));
}

static bool is_closed_by_exec(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return flags < 0 || flags & FD_CLOEXEC;
}

#define FDS_MAX 256

/* A sandbox that another thread makes meanwhile must inherit nothing but what the test did. */
static bool look_for_heirs(uint64_t done, uint64_t total, const char *path, void *userdata)
{
	const bool *before = userdata;

	(void)done, (void)total, (void)path;
	for (int fd = 0; fd < FDS_MAX; fd++)
		assert_true(before[fd] || is_closed_by_exec(fd));
	return true;
}

static void a_copy_opens_nothing_that_another_program_inherits(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_session *session = test_session(t);
	bool before[FDS_MAX];
	struct sbx_copy how = {.progress = look_for_heirs, .userdata = before};
	struct sbx_error err;

	for (int fd = 0; fd < FDS_MAX; fd++)
		before[fd] = !is_closed_by_exec(fd);
	assert_int_equal(mkdir(host("tree"), 0755), 0);
	fill_host("tree/in", 1);
	assert_int_equal(sbx_session_put(session, host("tree"), "tree", &how, NULL, &err), 0);
	assert_int_equal(sbx_session_get(session, "tree", host("back"), &how, NULL, &err), 0);
}

static void a_cancelled_copy_leaves_nothing_half_and_the_session_usable(void **state)
{
	struct test_sandbox *t = *state;
	struct watch w = {0};
	struct sbx_copy how = {.progress = watch_progress, .userdata = &w};
	struct sbx_error err;

	fill_host("in", 8);
	put(t, host("in"), "there");
	for (int i = 0; i < 2; i++) {
		w = (struct watch){0};
		assert_int_equal(sbx_cancel_new(&w.cancel, &err), 0);
		how.cancel = w.cancel;
		if (i == 0)
			assert_true(sbx_session_put(test_session(t), host("in"), "no", &how, NULL,
						    &err) < 0);
		else
			assert_true(sbx_session_get(test_session(t), "there", host("no"), &how, NULL,
						    &err) < 0);
		assert_int_equal(err.code, SBX_E_UNAVAILABLE);
		sbx_cancel_free(w.cancel);
	}
	assert_false(on_host("no"));
	assert_string_equal(test_shell(t, "ls -A")->out.data, "there\n");
	assert_usable(t);
}

static void a_copy_is_no_larger_than_allowed(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_copy bytes = {.most_bytes = 10}, files = {.most_files = 3};
	struct sbx_error err;

	mkdir(host("in"), 0755);
	write_host("in/a", "12345", 5);
	write_host("in/b", "123456", 6);
	write_host("in/c", "", 0);
	sh(t, "mkdir d; printf 12345 > d/a; printf 123456 > d/b; : > d/c");
	assert_true(sbx_session_put(test_session(t), host("in"), "in", &bytes, NULL, &err) < 0);
	assert_int_equal(err.code, SBX_E_LIMIT);
	assert_true(sbx_session_put(test_session(t), host("in"), "in", &files, NULL, &err) < 0);
	assert_int_equal(err.code, SBX_E_LIMIT);
	assert_true(sbx_session_get(test_session(t), "d", host("out"), &bytes, NULL, &err) < 0);
	assert_int_equal(err.code, SBX_E_LIMIT);
	assert_true(sbx_session_get(test_session(t), "d", host("out"), &files, NULL, &err) < 0);
	assert_int_equal(err.code, SBX_E_LIMIT);
	bytes.most_bytes = 11;
	files.most_files = 4;
	assert_int_equal(sbx_session_get(test_session(t), "d", host("out"), &bytes, NULL, &err), 0);
	assert_int_equal(sbx_session_put(test_session(t), host("in"), "in", &files, NULL, &err), 0);
}

static uint64_t blocks_of(const char *name)
{
	struct stat st;

	assert_int_equal(stat(host(name), &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static uint64_t size_of(const char *name)
{
	struct stat st;

	assert_int_equal(stat(host(name), &st), 0);
	return (uint64_t)st.st_size;
}

/* 1 TiB, of which eight bytes are there. */
static void make_sparse(const char *name)
{
	int fd = open(host(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_int_equal(pwrite(fd, "head", 4, 0), 4);
	assert_int_equal(pwrite(fd, "tail", 4, (off_t)(1ull << 40) - 4), 4);
	close(fd);
}

static void a_sparse_file_costs_what_is_in_it(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_copy how = {.most_bytes = MIB};
	struct sbx_copy_report report;
	struct sbx_error err;
	char *tail;
	size_t len;

	make_sparse("made");
	report = put(t, host("made"), "huge");
	assert_int_equal(report.bytes, 1ull << 40);
	sh(t, "truncate -s 64M hollow");
	assert_true(sbx_session_get(test_session(t), "huge", host("no"), &how, NULL, &err) < 0);
	assert_int_equal(err.code, SBX_E_LIMIT);
	assert_false(on_host("no"));
	report = get(t, "huge", host("huge"));
	assert_int_equal(report.bytes, 1ull << 40);
	assert_int_equal(size_of("huge"), 1ull << 40);
	assert_true(blocks_of("huge") < MIB);
	put(t, host("huge"), "back");
	sh(t, "[ $(stat -c %s back) = 1099511627776 ] && [ $(stat -c %b back) -lt 2048 ]");
	assert_int_equal(sbx_session_read_file(test_session(t), "back", (1ull << 40) - 6, 100, &tail,
					       &len, NULL, &err), 0);
	assert_int_equal(len, 6);
	assert_memory_equal(tail, "\0\0tail", 6);
	free(tail);
	get(t, "hollow", host("hollow"));
	assert_int_equal(size_of("hollow"), 64 * MIB);
	assert_true(blocks_of("hollow") < MIB);
}

static void the_disk_limit_is_a_clear_error_and_the_session_lives_on(void **state)
{
	struct test_sandbox *t = *state;

	test_need_isolation("there is no limit on space");
	test_set_limit(t, SBX_LIMIT_DISK_BYTES, 4 * MIB);
	fill_host("in", 8);
	write_inside(t, "kept", "old", SBX_WRITE_REPLACE);
	assert_int_equal(put_fails(t, host("in"), "kept"), SBX_E_LIMIT);
	assert_non_null(strstr(last_error.msg, "disk limit"));
	assert_string_equal(read_inside(t, "kept"), "old");
	assert_string_equal(test_shell(t, "ls -A")->out.data, "kept\n");
	write_inside(t, "next", "fits", SBX_WRITE_REPLACE);
	assert_usable(t);
}

static void a_file_of_2_gb_goes_through_little_memory(void **state)
{
	struct test_sandbox *t = *state;
	size_t mib = test_size(64, 512, 2048);
	struct rusage before, after;

	test_need_isolation("its files lie where those of the test do");
	test_set_limit(t, SBX_LIMIT_DISK_BYTES, (mib + 16) * MIB);
	test_set_limit(t, SBX_LIMIT_MEMORY_BYTES, (2 * mib + 256) * MIB);
	fill_host("in", mib);
	assert_usable(t);
	getrusage(RUSAGE_SELF, &before);
	put(t, host("in"), "big");
	get(t, "big", host("out"));
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 8 * 1024);
	assert_int_equal(size_of("out"), mib * MIB);
	assert_int_equal(truncate(host("in"), 0), 0);
	write_host("sum", "", 0);
	sh(t, "python3 -c '\n"
	      "f = open(\"big\", \"rb\"); n = 0\n"
	      "while (piece := f.read(1 << 20)):\n"
	      "    assert piece[0] == n % 256 and piece[-1] == 120 and len(piece) == 1 << 20; n += 1\n'");
}

/* ---- files that change meanwhile ---- */

static struct sbx_process *start(struct test_sandbox *t, const char *script)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};
	struct sbx_command command = {.argv = argv};
	struct sbx_process *process = NULL;
	struct sbx_error err;

	if (sbx_session_start(test_session(t), &command, &process, &err) < 0)
		fail_msg("%s", err.msg);
	return process;
}

static void a_file_that_grows_or_shrinks_while_it_is_read_ends(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_process *p =
		start(t, "while :; do head -c 3000000 /dev/zero >> f; truncate -s 100 f; done");

	write_inside(t, "f", "x", SBX_WRITE_APPEND);
	for (int i = 0; i < 100; i++)
		get(t, "f", host("out"));
	assert_true(size_of("out") <= 3000100);
	sbx_process_free(p);
	assert_usable(t);
}

static void a_file_is_replaced_as_a_whole_under_a_reader(void **state)
{
	struct test_sandbox *t = *state;
	static char one[300000], two[300000];
	struct sbx_process *p;
	struct sbx_result *result = NULL;
	struct sbx_error err;

	memset(one, '1', sizeof(one) - 1);
	memset(two, '2', sizeof(two) - 1);
	write_inside(t, "f", one, SBX_WRITE_REPLACE);
	p = start(t, "exec python3 -c '\n"
		     "import os\n"
		     "open(\"ready\", \"w\").close()\n"
		     "while not os.path.exists(\"stop\"):\n"
		     "    s = open(\"f\").read()\n"
		     "    assert s in (\"1\" * 299999, \"2\" * 299999), len(s)\n'");
	for (int i = 0; i < 200; i++)
		write_inside(t, "f", i % 2 ? one : two, SBX_WRITE_REPLACE);
	write_inside(t, "stop", "", SBX_WRITE_NEW);
	assert_int_equal(sbx_process_wait(p, 60000, NULL, &result, &err), 0);
	if (result->exit_code != 0)
		fail_msg("%s", result->errout.data);
	sbx_result_free(result);
	sbx_process_free(p);
}

/* A folder that is swapped for a link and back: nothing is written, removed or read behind it. */
static void a_folder_that_is_swapped_for_a_link_leads_nowhere(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_process *p;
	struct sbx_error err;

	mkdir(host("in"), 0755);
	mkdir(host("in/sub"), 0755);
	write_host("in/sub/new", "new", 3);
	sh(t, "mkdir -p victim d/sub; echo safe > victim/file; echo x > d/sub/x; ln -s ../victim d/link");
	p = start(t, "cd d; touch ready; while :; do mv sub real; mv link sub; mv sub link; mv real sub; done");
	for (unsigned long i = 0; i < test_size(20, 60, 1000); i++) {
		sbx_session_put(test_session(t), host("in"), "d", NULL, NULL, &err);
		sbx_session_get(test_session(t), "d", host("out"), NULL, NULL, &err);
		sbx_session_remove_file(test_session(t), "d/sub/file", false, &err);
		sbx_session_remove_file(test_session(t), "d/sub/file", true, &err);
		sbx_session_make_folder(test_session(t), "d/sub/made", &err);
		assert_false(on_host("out/sub/file"));
		assert_true(!on_host("out/link") || host_mode("out/link") != 0777);
	}
	sbx_process_free(p);
	assert_string_equal(test_shell(t, "cat victim/file; ls -A victim")->out.data, "safe\nfile\n");
}

/* The same on this machine: the folder that is copied to belongs to somebody hostile. */
struct swapper {
	int fd;
	atomic_bool stop;
};

static void *swap_folders(void *arg)
{
	struct swapper *s = arg;

	while (!s->stop) {
		renameat(s->fd, "sub", s->fd, "real");
		renameat(s->fd, "link", s->fd, "sub");
		renameat(s->fd, "sub", s->fd, "link");
		renameat(s->fd, "real", s->fd, "sub");
	}
	return NULL;
}

static void a_folder_of_this_machine_that_is_swapped_for_a_link_leads_nowhere(void **state)
{
	struct test_sandbox *t = *state;
	struct swapper s = {0};
	struct sbx_error err;
	pthread_t thread;

	mkdir(host("victim"), 0755);
	mkdir(host("out"), 0755);
	s.fd = open(host("out"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	mkdir(host("out/sub"), 0755);
	assert_int_equal(symlink("../victim", host("out/link")), 0);
	sh(t, "mkdir -p d/sub; for i in 1 2 3 4 5 6 7 8 9; do echo new > d/sub/$i; done");
	assert_int_equal(pthread_create(&thread, NULL, swap_folders, &s), 0);
	for (unsigned long i = 0; i < test_size(30, 100, 1000); i++)
		sbx_session_get(test_session(t), "d", host("out"), NULL, NULL, &err);
	s.stop = true;
	pthread_join(thread, NULL);
	close(s.fd);
	assert_int_equal(rmdir(host("victim")), 0);
}

/* ---- archives ---- */

static struct sbx_copy_report archive(struct test_sandbox *t, const char *path, const char *name)
{
	int fd = open(host(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	struct sbx_copy_report report;
	struct sbx_error err;

	assert_true(fd >= 0);
	if (sbx_session_archive(test_session(t), path, fd, NULL, &report, &err) < 0)
		fail_msg("%s", err.msg);
	close(fd);
	return report;
}

static enum sbx_code unpack(struct test_sandbox *t, const char *name, const char *path,
			    const struct sbx_copy *how, struct sbx_copy_report *ret)
{
	int fd = open(host(name), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	last_error.code = SBX_OK;
	sbx_session_unpack(test_session(t), fd, path, how, ret, &last_error);
	close(fd);
	return last_error.code;
}

/* Run a line of Python on this machine, in the test's folder. */
static void python(const char *code)
{
	char line[4096];

	snprintf(line, sizeof(line), "cd %s && python3 -c '\nimport io, tarfile, zipfile\n%s'", folder,
		 code);
	assert_int_equal(system(line), 0);
}

static void a_tree_becomes_an_archive_and_a_tree_again(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_copy_report report;

	sh(t, "mkdir -p a/d/e; echo one > a/d/one; : > a/empty; chmod 4755 a/empty; ln -s / a/link;"
	      "mkfifo a/fifo; printf x > \"a/$(printf \"b\\n\\377\")\"");
	report = archive(t, "a/d", "d.tar");
	assert_int_equal(report.files, 1);
	report = archive(t, "a", "a.tar");
	assert_int_equal(report.files, 3);
	assert_int_equal(report.folders, 3);
	assert_int_equal(report.left_out, 2);
	python("names = tarfile.open(\"d.tar\").getnames()\n"
	       "assert sorted(names) == [\"d\", \"d/e\", \"d/one\"], names\n"
	       "m = tarfile.open(\"a.tar\").getmember(\"a/empty\")\n"
	       "assert m.mode == 0o755 and m.size == 0, m\n");
	assert_int_equal(unpack(t, "a.tar", "b", NULL, &report), SBX_OK);
	assert_int_equal(report.files, 3);
	sh(t, "rm a/link a/fifo; diff -r a b/a && [ $(stat -c %a b/a/empty) = 755 ]");
}

static void archives_of_every_promised_kind_are_unpacked(void **state)
{
	static const char *const names[] = {"t.tar", "t.tar.gz", "t.tar.bz2", "t.tar.xz", "t.zip"};
	struct test_sandbox *t = *state;
	struct sbx_copy_report report;

	python("for kind in (\"\", \"gz\", \"bz2\", \"xz\"):\n"
	       "    t = tarfile.open(\"t.tar\" + (\".\" + kind if kind else \"\"), \"w:\" + kind)\n"
	       "    i = tarfile.TarInfo(\"d/\\u00e4\"); i.size = 5; i.mode = 0o755\n"
	       "    t.addfile(i, io.BytesIO(b\"hello\")); t.close()\n"
	       "z = zipfile.ZipFile(\"t.zip\", \"w\"); z.writestr(\"d/\\u00e4\", \"hello\"); z.close()\n");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (unpack(t, names[i], names[i], NULL, &report) != SBX_OK)
			fail_msg("%s: %s", names[i], last_error.msg);
		assert_int_equal(report.files, 1);
		assert_int_equal(report.left_out, 0);
		sh(t, "[ \"$(cat */d/\303\244 | head -c 5)\" = hello ]");
		assert_int_equal(remove_inside(t, names[i], true), SBX_OK);
	}
	write_host("text", "this is no archive", 18);
	assert_int_equal(unpack(t, "text", "x", NULL, NULL), SBX_E_INVALID);
	assert_usable(t);
}

static void what_leads_out_of_an_archive_is_left_out(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_copy_report report;

	python("t = tarfile.open(\"t.tar\", \"w\")\n"
	       "def add(name, kind=tarfile.REGTYPE, link=\"\", text=b\"x\"):\n"
	       "    i = tarfile.TarInfo(name); i.type = kind; i.linkname = link; i.mode = 0o6755\n"
	       "    i.size = len(text) if kind == tarfile.REGTYPE else 0\n"
	       "    t.addfile(i, io.BytesIO(text))\n"
	       "add(\"/tmp/absolute\"); add(\"../up\"); add(\"a/../../up\"); add(\"a/..\")\n"
	       "add(\"link\", tarfile.SYMTYPE, \"/tmp\"); add(\"link/through\")\n"
	       "add(\"hard\", tarfile.LNKTYPE, \"link/through\"); add(\"dev\", tarfile.CHRTYPE)\n"
	       "add(\"fifo\", tarfile.FIFOTYPE); add(\"n\" * 300); add(\"suid\")\n"
	       "add(\"twice\"); add(\"twice\", text=b\"second\"); add(\"./dot/./x\")\n"
	       "t.close()\n");
	assert_int_equal(unpack(t, "t.tar", "d", NULL, &report), SBX_OK);
	assert_int_equal(report.left_out, 9);
	assert_int_equal(report.files, 5);
	assert_string_equal(test_shell(t, "find d -type f | sort; cat d/twice")->out.data,
			    "d/dot/x\nd/link/through\nd/suid\nd/twice\nsecond");
	sh(t, "[ $(stat -c %a d/suid) = 755 ] && [ ! -e /tmp/absolute ] && [ ! -e up ]");
	python("z = zipfile.ZipFile(\"t.zip\", \"w\")\n"
	       "z.writestr(\"../up\", \"x\"); z.writestr(\"good\", \"x\"); z.close()\n");
	assert_int_equal(unpack(t, "t.zip", "z", NULL, &report), SBX_OK);
	assert_int_equal(report.left_out, 1);
	assert_int_equal(report.files, 1);
}

static void a_planted_link_does_not_lead_an_archive_out(void **state)
{
	struct test_sandbox *t = *state;

	python("t = tarfile.open(\"t.tar\", \"w\"); i = tarfile.TarInfo(\"sub/file\"); i.size = 1\n"
	       "t.addfile(i, io.BytesIO(b\"x\")); t.close()\n");
	sh(t, "mkdir d victim; ln -s ../victim d/sub");
	assert_true(unpack(t, "t.tar", "d", NULL, NULL) != SBX_OK);
	assert_string_equal(test_shell(t, "ls -A victim")->out.data, "");
	assert_usable(t);
}

static void an_archive_that_grows_is_stopped(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_copy how = {.most_bytes = MIB};

	python("z = zipfile.ZipFile(\"bomb.zip\", \"w\", zipfile.ZIP_DEFLATED)\n"
	       "z.writestr(\"zeros\", b\"\\0\" * 50000000); z.close()\n"
	       "t = tarfile.open(\"bomb.tar.gz\", \"w:gz\")\n"
	       "i = tarfile.TarInfo(\"zeros\"); i.size = 50000000\n"
	       "t.addfile(i, io.BytesIO(b\"\\0\" * 50000000)); t.close()\n");
	test_set_limit(t, SBX_LIMIT_DISK_BYTES, 4 * MIB);
	assert_int_equal(unpack(t, "bomb.zip", "d", &how, NULL), SBX_E_LIMIT);
	assert_int_equal(unpack(t, "bomb.tar.gz", "d", &how, NULL), SBX_E_LIMIT);
	if (test_isolates()) {
		assert_int_equal(unpack(t, "bomb.zip", "d", NULL, NULL), SBX_E_LIMIT);
		assert_non_null(strstr(last_error.msg, "disk limit"));
	}
	assert_string_equal(test_shell(t, "ls -A d")->out.data, "");
}

static void a_damaged_or_encrypted_archive_is_a_clear_error(void **state)
{
	struct test_sandbox *t = *state;

	python("t = tarfile.open(\"t.tar.gz\", \"w:gz\"); i = tarfile.TarInfo(\"f\"); i.size = 100000\n"
	       "t.addfile(i, io.BytesIO(bytes(i * 7 % 251 for i in range(100000)))); t.close()\n"
	       "b = open(\"t.tar.gz\", \"rb\").read(); open(\"cut.tar.gz\", \"wb\").write(b[:len(b)//2])\n"
	       "z = zipfile.ZipFile(\"t.zip\", \"w\"); z.writestr(\"f\", b\"x\" * 1000); z.close()\n"
	       "b = bytearray(open(\"t.zip\", \"rb\").read()); b[6] |= 1\n"
	       "c = b.index(b\"PK\\1\\2\"); b[c + 8] |= 1; open(\"secret.zip\", \"wb\").write(b)\n"
	       "b[6] &= 254; b[c + 8] &= 254; b[22:26] = b[c+24:c+28] = b\"\\xff\\xff\\xff\\x7e\"\n"
	       "open(\"liar.zip\", \"wb\").write(b)\n");
	assert_int_equal(unpack(t, "cut.tar.gz", "d", NULL, NULL), SBX_E_INVALID);
	assert_int_equal(unpack(t, "secret.zip", "d", NULL, NULL), SBX_E_INVALID);
	assert_non_null(strstr(last_error.msg, "encrypted"));
	unpack(t, "liar.zip", "d", NULL, NULL);
	assert_true(last_error.code == SBX_OK || last_error.code == SBX_E_INVALID);
	assert_usable(t);
}

static void an_archive_goes_through_pipes(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_error err;
	char line[512];
	FILE *pipe;

	sh(t, "mkdir d; seq 300000 > d/f");
	snprintf(line, sizeof(line), "tar -xf - -C %s", folder);
	pipe = popen(line, "w");
	assert_non_null(pipe);
	assert_int_equal(sbx_session_archive(test_session(t), "d", fileno(pipe), NULL, NULL, &err), 0);
	assert_int_equal(pclose(pipe), 0);
	snprintf(line, sizeof(line), "tar -czf - -C %s d", folder);
	pipe = popen(line, "r");
	assert_non_null(pipe);
	assert_int_equal(sbx_session_unpack(test_session(t), fileno(pipe), "e", NULL, NULL, &err), 0);
	assert_int_equal(pclose(pipe), 0);
	sh(t, "diff -r d e/d");
}

static void an_archive_is_not_filled_with_the_zeros_of_a_hole(void **state)
{
	struct test_sandbox *t = *state;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct sbx_error err;

	test_set_limit(t, SBX_LIMIT_DISK_BYTES, 16 * MIB);
	make_sparse("made");
	put(t, host("made"), "huge");
	assert_true(sbx_session_archive(test_session(t), "huge", fd, NULL, NULL, &err) < 0);
	assert_int_equal(err.code, SBX_E_LIMIT);
	close(fd);
	assert_usable(t);
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
		files_test(no_link_is_written_through_inside),
		files_test(a_fifo_inside_holds_nothing_up),
		files_test(no_link_is_written_through_on_this_machine),
		files_test(links_and_special_files_do_not_go_in),
		files_test(what_cannot_be_read_inside_is_left_out_of_a_tree),
		files_test(names_of_any_bytes_come_out_as_they_are),
		files_test(a_deep_tree_is_refused_when_no_path_is_long_enough_and_removed),
		files_test(ten_thousand_small_files_go_in_and_out),
		files_test(progress_is_told_and_can_stop_a_copy),
		files_test(a_copy_opens_nothing_that_another_program_inherits),
		files_test(a_cancelled_copy_leaves_nothing_half_and_the_session_usable),
		files_test(a_copy_is_no_larger_than_allowed),
		files_test(a_sparse_file_costs_what_is_in_it),
		files_test(the_disk_limit_is_a_clear_error_and_the_session_lives_on),
		files_test(a_file_of_2_gb_goes_through_little_memory),
		files_test(a_file_that_grows_or_shrinks_while_it_is_read_ends),
		files_test(a_file_is_replaced_as_a_whole_under_a_reader),
		files_test(a_folder_that_is_swapped_for_a_link_leads_nowhere),
		files_test(a_folder_of_this_machine_that_is_swapped_for_a_link_leads_nowhere),
		files_test(a_tree_becomes_an_archive_and_a_tree_again),
		files_test(archives_of_every_promised_kind_are_unpacked),
		files_test(what_leads_out_of_an_archive_is_left_out),
		files_test(a_planted_link_does_not_lead_an_archive_out),
		files_test(an_archive_that_grows_is_stopped),
		files_test(a_damaged_or_encrypted_archive_is_a_clear_error),
		files_test(an_archive_goes_through_pipes),
		files_test(an_archive_is_not_filled_with_the_zeros_of_a_hole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
