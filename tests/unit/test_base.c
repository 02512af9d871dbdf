/* SPDX-License-Identifier: MIT */
/* What src/base promises. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/path.h"
#include "base/text.h"
#include "base/strv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void a_buffer_never_grows_past_its_maximum(void **state)
{
	auto_buf struct sbx_buf b = SBX_BUF_INIT(10);

	(void)state;
	sbx_buf_puts(&b, "0123456789");
	assert_false(b.failed);
	sbx_buf_puts(&b, "x");
	assert_true(b.failed);
	assert_string_equal(b.data, "0123456789");
	assert_null(sbx_buf_take(&b));
}

static void a_buffer_that_failed_stays_failed_until_it_is_done(void **state)
{
	auto_buf struct sbx_buf b = SBX_BUF_INIT(4);

	(void)state;
	assert_null(sbx_buf_reserve(&b, SIZE_MAX));
	sbx_buf_puts(&b, "a");
	assert_int_equal(b.len, 0);
	sbx_buf_done(&b);
	sbx_buf_puts(&b, "a");
	assert_string_equal(b.data, "a");
}

static void a_buffer_is_consumed_from_its_start(void **state)
{
	auto_buf struct sbx_buf b = SBX_BUF_INIT(100);

	(void)state;
	sbx_buf_printf(&b, "%s-%d", "head", 42);
	sbx_buf_consume(&b, 5);
	assert_string_equal(b.data, "42");
	sbx_buf_consume(&b, 2);
	assert_string_equal(b.data, "");
}

static void an_empty_buffer_is_taken_as_an_empty_string(void **state)
{
	auto_buf struct sbx_buf b = SBX_BUF_INIT(100);
	auto_free char *text = sbx_buf_take(&b);

	(void)state;
	assert_string_equal(text, "");
}

static void an_error_has_its_code_and_one_sentence(void **state)
{
	struct sbx_error err;

	(void)state;
	assert_int_equal(sbx_fail(&err, SBX_E_LIMIT, "%d is too many", 7), -SBX_E_LIMIT);
	assert_string_equal(err.msg, "7 is too many");
	assert_int_equal(sbx_fail_errno(&err, ENOENT, "cannot open '%s'", "x"), -SBX_E_SYSTEM);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_string_equal(err.msg, "cannot open 'x': No such file or directory");
	assert_int_equal(sbx_wrap(&err, "cannot start"), -SBX_E_SYSTEM);
	assert_string_equal(err.msg, "cannot start: cannot open 'x': No such file or directory");
}

static void an_error_too_long_is_cut_and_ends(void **state)
{
	struct sbx_error err;
	char text[2000];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	sbx_fail_errno(&err, EIO, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	sbx_wrap(&err, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
}

static void only_absolute_paths_without_tricks_are_clean(void **state)
{
	static const char *const good[] = {"/", "/a", "/a/b.c/..d", "/..."};
	static const char *const bad[] = {"", "a", "/a/", "//", "/a//b", "/.", "/a/..", "/../a",
					  "/a/./b"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(sbx_path_is_clean(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(sbx_path_is_clean(bad[i]));
}

static void below_a_folder_is_whole_components(void **state)
{
	(void)state;
	assert_true(sbx_path_is_below("/a/b", "/a"));
	assert_true(sbx_path_is_below("/a", "/a"));
	assert_false(sbx_path_is_below("/ab", "/a"));
	assert_false(sbx_path_is_below("/", "/a"));
}

static void a_component_is_one_name(void **state)
{
	char longest[257] = {0};

	(void)state;
	assert_true(sbx_path_is_component("a b\n"));
	assert_false(sbx_path_is_component(""));
	assert_false(sbx_path_is_component("."));
	assert_false(sbx_path_is_component(".."));
	assert_false(sbx_path_is_component("a/b"));
	memset(longest, 'a', 255);
	assert_true(sbx_path_is_component(longest));
	longest[255] = 'a';
	assert_false(sbx_path_is_component(longest));
}

static void a_deadline_rounds_up_and_zero_is_none(void **state)
{
	(void)state;
	assert_int_equal(sbx_deadline_ns(0), 0);
	assert_int_equal(sbx_poll_ms(0), -1);
	assert_int_equal(sbx_poll_ms(1), 0);
	assert_true(sbx_poll_ms(sbx_now_ns() + 1) <= 1);
	assert_int_equal(sbx_poll_ms(UINT64_MAX), INT32_MAX);
}

static void the_length_of_a_list_counts_its_strings(void **state)
{
	char *list[] = {(char *)"a", (char *)"b", NULL};

	(void)state;
	assert_int_equal(sbx_strv_len(list), 2);
	assert_int_equal(sbx_strv_len(NULL), 0);
}

/* ---- files, in a folder of the test's own ---- */

struct folder {
	char path[32];
	int fd;
};

static int make_folder(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return -1;
	strcpy(f->path, "/tmp/sbx-base-XXXXXX");
	if (mkdtemp(f->path) == NULL)
		return -1;
	f->fd = open(f->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = f;
	return f->fd < 0 ? -1 : 0;
}

static int remove_folder(void **state)
{
	struct folder *f = *state;

	unlinkat(f->fd, "file", 0);
	unlinkat(f->fd, "other", 0);
	close(f->fd);
	rmdir(f->path);
	free(f);
	return 0;
}

static void write_file(const struct folder *f, const char *data, size_t len)
{
	auto_close int fd = openat(f->fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(sbx_write_all(fd, data, len), 0);
}

static void a_file_is_read_whole_with_its_nul_bytes(void **state)
{
	const struct folder *f = *state;
	auto_free char *data = NULL;
	struct sbx_error err;
	size_t len = 0;

	write_file(f, "a\0b", 3);
	assert_int_equal(sbx_read_file(f->fd, "file", 3, &data, &len, &err), 0);
	assert_int_equal(len, 3);
	assert_memory_equal(data, "a\0b", 4);
}

static void a_file_larger_than_its_maximum_is_refused(void **state)
{
	const struct folder *f = *state;
	char *data = NULL;
	struct sbx_error err;
	size_t len = 0;

	write_file(f, "abcd", 4);
	assert_int_equal(sbx_read_file(f->fd, "file", 3, &data, &len, &err), -SBX_E_LIMIT);
	assert_null(data);
}

static void a_symbolic_link_is_not_followed(void **state)
{
	const struct folder *f = *state;
	char *data = NULL;
	struct sbx_error err;
	size_t len = 0;

	write_file(f, "secret", 6);
	assert_int_equal(symlinkat("file", f->fd, "other"), 0);
	assert_int_equal(sbx_read_file(f->fd, "other", 99, &data, &len, &err), -SBX_E_SYSTEM);
	assert_int_equal(err.sys_errno, ELOOP);
}

static void a_fifo_in_place_of_a_file_does_not_block(void **state)
{
	const struct folder *f = *state;
	char *data = NULL;
	struct sbx_error err;
	size_t len = 0;

	assert_int_equal(mkfifoat(f->fd, "other", 0600), 0);
	assert_int_equal(sbx_read_file(f->fd, "other", 99, &data, &len, &err), -SBX_E_INVALID);
}

static void a_pipe_is_read_to_its_end_or_maximum(void **state)
{
	auto_free char *data = NULL;
	struct sbx_error err;
	size_t len = 0;
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(sbx_write_all(fds[1], "abc", 3), 0);
	close(fds[1]);
	assert_int_equal(sbx_read_stream(fds[0], "pipe", 3, &data, &len, &err), 0);
	assert_string_equal(data, "abc");
	close(fds[0]);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

static void base64_comes_back_as_the_bytes_it_was(void **state)
{
	static const char *const bad[] = {"a", "aGk=a", "aGk==", "a===", "=", "a-b_", "aGkx=", "\x80\x80"};
	char data[64];

	(void)state;
	for (size_t len = 0; len <= sizeof(data); len++) {
		struct sbx_buf text = SBX_BUF_INIT(200), bytes = SBX_BUF_INIT(200);

		for (size_t i = 0; i < len; i++)
			data[i] = (char)(251 * i + len);
		sbx_text_append_base64(&text, data, len);
		sbx_buf_puts(&text, " \r\n");
		assert_true(sbx_text_decode_base64(&bytes, text.data, text.len));
		assert_int_equal(bytes.len, len);
		assert_memory_equal(len ? bytes.data : "", data, len);
		sbx_buf_done(&text);
		sbx_buf_done(&bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sbx_buf bytes = SBX_BUF_INIT(200);

		assert_false(sbx_text_decode_base64(&bytes, bad[i], strlen(bad[i])));
		sbx_buf_done(&bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base64_comes_back_as_the_bytes_it_was),
		cmocka_unit_test(a_buffer_never_grows_past_its_maximum),
		cmocka_unit_test(a_buffer_that_failed_stays_failed_until_it_is_done),
		cmocka_unit_test(a_buffer_is_consumed_from_its_start),
		cmocka_unit_test(an_empty_buffer_is_taken_as_an_empty_string),
		cmocka_unit_test(an_error_has_its_code_and_one_sentence),
		cmocka_unit_test(an_error_too_long_is_cut_and_ends),
		cmocka_unit_test(only_absolute_paths_without_tricks_are_clean),
		cmocka_unit_test(below_a_folder_is_whole_components),
		cmocka_unit_test(a_component_is_one_name),
		cmocka_unit_test(a_deadline_rounds_up_and_zero_is_none),
		cmocka_unit_test(the_length_of_a_list_counts_its_strings),
		WITH_FOLDER(a_file_is_read_whole_with_its_nul_bytes),
		WITH_FOLDER(a_file_larger_than_its_maximum_is_refused),
		WITH_FOLDER(a_symbolic_link_is_not_followed),
		WITH_FOLDER(a_fifo_in_place_of_a_file_does_not_block),
		cmocka_unit_test(a_pipe_is_read_to_its_end_or_maximum),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
