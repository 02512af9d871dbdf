/* SPDX-License-Identifier: MIT */
/* Output and input: exact bytes, what is kept of much, callbacks, stdin, the JSON form. */
#include "support/sandbox.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BIG 20000000u

/* What the callbacks saw. */
struct heard {
	char data[4096];
	size_t len, chunks;
	uint64_t total;
};

static void hear(const void *data, size_t len, void *userdata)
{
	struct heard *h = userdata;
	size_t room = sizeof(h->data) - 1 - h->len;
	size_t kept = len < room ? len : room;

	memcpy(h->data + h->len, data, kept);
	h->len += kept;
	h->chunks++;
	h->total += len;
}

/* As scripts do for messages; the names lead to /proc/self/fd, whose owner the kernel asks. */
static void the_names_dev_stdout_and_dev_stderr_work(void **state)
{
	const struct sbx_result *r =
		test_shell(*state, "echo a > /dev/stdout; echo b > /dev/stderr");

	assert_string_equal(r->out.data, "a\n");
	assert_string_equal(r->errout.data, "b\n");
}

/* Case 17: bytes that are no UTF-8 are kept as they are, and the JSON form says so. */
static void bytes_that_are_no_text_are_kept_exactly(void **state)
{
	const struct sbx_result *r = test_shell(*state, "printf 'a\\377\\000b'");
	char *text = NULL;
	json_t *o;

	assert_int_equal(r->out.len, 4);
	assert_memory_equal(r->out.data, "a\377\0b", 4);
	assert_int_equal(sbx_result_format_json(r, 0, &text, NULL), 0);
	o = json_loads(text, JSON_ALLOW_NUL, NULL);
	assert_non_null(o);
	assert_memory_equal(json_string_value(json_object_get(o, "stdout")), "a\357\277\275\0b", 6);
	assert_string_equal(json_string_value(json_object_get(o, "stdout_base64")), "Yf8AYg==");
	assert_null(json_object_get(o, "stderr_base64"));
	json_decref(o);
	free(text);
}

/* Case 18. The program waits for nothing: three writes with a flush come as they are made. */
static void callbacks_join_to_the_whole_output_and_the_exit_code_is_kept(void **state)
{
	struct test_sandbox *t = *state;
	struct heard heard = {0};
	const struct sbx_result *r;

	t->io = (struct sbx_io){.on_stdout = hear, .userdata = &heard};
	r = test_run(t, "python",
		     "import sys, time\n"
		     "for i in range(3):\n"
		     "    print(i, flush=True)\n"
		     "    time.sleep(0.1)\n"
		     "sys.exit(3)\n");
	assert_int_equal(r->exit_code, 3);
	assert_string_equal(heard.data, "0\n1\n2\n");
	assert_string_equal(r->out.data, "0\n1\n2\n");
	assert_true(heard.chunks > 1);
}

/* Case 19. */
static void a_character_split_over_two_writes_stays_intact(void **state)
{
	struct test_sandbox *t = *state;
	struct heard heard = {0};
	const struct sbx_result *r;
	char *text = NULL;

	t->io = (struct sbx_io){.on_stdout = hear, .userdata = &heard};
	r = test_run(t, "python",
		     "import os, time\n"
		     "os.write(1, b'\\xe2\\x82')\n"
		     "time.sleep(0.05)\n"
		     "os.write(1, b'\\xac\\n')\n");
	assert_string_equal(heard.data, "€\n");
	assert_int_equal(sbx_result_format_json(r, 0, &text, NULL), 0);
	assert_null(strstr(text, "stdout_base64"));
	free(text);
}

static void cancel_when_heard(const void *data, size_t len, void *userdata)
{
	(void)data, (void)len;
	sbx_cancel_kill(userdata);
}

/* Case 20: a callback that wants no more says so, and what came until then is all there. */
static void a_callback_that_gives_up_gets_a_whole_result(void **state)
{
	struct test_sandbox *t = *state;
	struct sbx_cancel *cancel = NULL;
	const struct sbx_result *r;

	assert_int_equal(sbx_cancel_new(&cancel, NULL), 0);
	t->io = (struct sbx_io){
		.on_stdout = cancel_when_heard, .userdata = cancel, .cancel = cancel};
	r = test_shell(t, "echo first; sleep 60; echo last");
	assert_int_equal(r->reason, SBX_CANCELLED);
	assert_string_equal(r->out.data, "first\n");
	t->io = (struct sbx_io){0};
	assert_string_equal(test_shell(t, "echo next")->out.data, "next\n");
	sbx_cancel_free(cancel);
}

static void callbacks_see_all_that_the_result_leaves_out(void **state)
{
	struct test_sandbox *t = *state;
	struct heard heard = {0};
	const struct sbx_result *r;

	test_set_limit(t, SBX_LIMIT_HEAD_BYTES, 10);
	test_set_limit(t, SBX_LIMIT_TAIL_BYTES, 5);
	t->io = (struct sbx_io){.on_stdout = hear, .userdata = &heard};
	r = test_shell(t, "head -c 3000000 /dev/zero");
	assert_int_equal(heard.total, 3000000);
	assert_int_equal(r->out.total_bytes, 3000000);
	assert_int_equal(r->out.len, 15);
}

static void head_and_tail_are_kept_to_the_byte(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_set_limit(t, SBX_LIMIT_HEAD_BYTES, 10);
	test_set_limit(t, SBX_LIMIT_TAIL_BYTES, 5);
	r = test_shell(t, "printf 0123456789abcdefghijklmnopqrstuvwxyz; printf errors >&2");
	assert_true(r->out.truncated);
	assert_int_equal(r->out.total_bytes, 36);
	assert_int_equal(r->out.head_len, 10);
	assert_int_equal(r->out.len, 15);
	assert_string_equal(r->out.data, "0123456789vwxyz");
	assert_false(r->errout.truncated);
	assert_string_equal(r->errout.data, "errors");
	assert_int_equal(r->exit_code, 0);
}

static void output_of_exactly_head_and_tail_is_whole(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_set_limit(t, SBX_LIMIT_HEAD_BYTES, 10);
	test_set_limit(t, SBX_LIMIT_TAIL_BYTES, 5);
	r = test_shell(t, "printf 0123456789abcde");
	assert_false(r->out.truncated);
	assert_string_equal(r->out.data, "0123456789abcde");
	assert_int_equal(r->out.head_len, r->out.len);
}

static void no_output_is_kept_when_the_limits_say_so(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_set_limit(t, SBX_LIMIT_HEAD_BYTES, 0);
	test_set_limit(t, SBX_LIMIT_TAIL_BYTES, 0);
	r = test_shell(t, "echo something");
	assert_true(r->out.truncated);
	assert_int_equal(r->out.len, 0);
	assert_int_equal(r->out.total_bytes, 10);
}

static void a_program_is_never_killed_for_printing(void **state)
{
	const struct sbx_result *r = test_run(*state, "python",
					      "import sys\n"
					      "for i in range(20):\n"
					      "    sys.stdout.write('x' * 999999 + '\\n')\n"
					      "print('the end')\n"
					      "sys.exit(4)\n");

	assert_int_equal(r->exit_code, 4);
	assert_int_equal(r->out.total_bytes, BIG + 8);
	assert_int_equal(r->out.head_len, MIB);
	assert_int_equal(r->out.len, MIB + 256 * KIB);
	assert_string_equal(r->out.data + r->out.len - 9, "\nthe end\n");
}

static void all_of_twenty_megabytes_is_kept_when_asked_for(void **state)
{
	struct test_sandbox *t = *state;
	const struct sbx_result *r;

	test_set_limit(t, SBX_LIMIT_HEAD_BYTES, BIG);
	r = test_shell(t, "yes 123456789 | head -c 20000000; yes abcdefghi | head -c 1000000 >&2");
	assert_int_equal(r->out.len, BIG);
	assert_false(r->out.truncated);
	assert_int_equal(r->errout.total_bytes, 1000000);
	for (size_t i = 0; i < BIG; i += 10)
		assert_memory_equal(r->out.data + i, "123456789\n", 10);
}

static void closed_streams_do_not_hide_the_exit_code(void **state)
{
	const struct sbx_result *r =
		test_shell(*state, "echo shown; exec >&- 2>&-; echo lost; exit 9");

	assert_int_equal(r->exit_code, 9);
	assert_string_equal(r->out.data, "shown\n");
}

/* Case 33. */
static void stdin_is_at_its_end_from_the_start(void **state)
{
	const struct sbx_result *r =
		test_run(*state, "python", "import sys\nprint(repr(sys.stdin.read()))\n");

	assert_string_equal(r->out.data, "''\n");
}

static void stdin_data_arrives_whole(void **state)
{
	struct test_sandbox *t = *state;
	size_t len = 3 * MIB + 7;
	char *data = malloc(len);
	const struct sbx_result *r;

	assert_non_null(data);
	memset(data, 'i', len);
	t->io = (struct sbx_io){.stdin_data = data, .stdin_len = len};
	r = test_shell(t, "wc -c");
	free(data);
	assert_int_equal(strtoul(r->out.data, NULL, 10), len);
}

static void stdin_of_a_program_that_does_not_read_is_dropped(void **state)
{
	struct test_sandbox *t = *state;
	size_t len = 4 * MIB;
	char *data = calloc(1, len);
	const struct sbx_result *r;

	assert_non_null(data);
	t->io = (struct sbx_io){.stdin_data = data, .stdin_len = len};
	r = test_shell(t, "echo done; exit 2");
	free(data);
	assert_int_equal(r->exit_code, 2);
	assert_string_equal(r->out.data, "done\n");
}

static void stdin_comes_from_a_descriptor(void **state)
{
	struct test_sandbox *t = *state;
	int fds[2];
	const struct sbx_result *r;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "from the pipe\n", 14), 14);
	close(fds[1]);
	t->io = (struct sbx_io){.use_stdin_fd = true, .stdin_fd = fds[0]};
	r = test_shell(t, "cat");
	close(fds[0]);
	assert_string_equal(r->out.data, "from the pipe\n");
}

/* How far a file was read when the program, still running, says the word. */
struct progress {
	int fd;
	off_t at;
};

static void note_progress(const void *data, size_t len, void *userdata)
{
	struct progress *p = userdata;

	if (memmem(data, len, "now", 3) != NULL)
		p->at = lseek(p->fd, 0, SEEK_CUR);
}

/* What is taken from a file is bounded by the windows between it and the program. */
static void stdin_is_read_no_faster_than_the_program_reads(void **state)
{
	struct test_sandbox *t = *state;
	struct progress progress = {.fd = memfd_create("input", MFD_CLOEXEC), .at = -1};
	const struct sbx_result *r;

	assert_true(progress.fd >= 0);
	assert_int_equal(ftruncate(progress.fd, 64 << 20), 0);
	t->io = (struct sbx_io){.use_stdin_fd = true,
				.stdin_fd = progress.fd,
				.on_stdout = note_progress,
				.userdata = &progress};
	/* It lives on after the word: what is sent to a program that has ended is not bounded. */
	r = test_shell(t, "head -c 5 | wc -c; sleep 0.2; echo now; sleep 0.2");
	close(progress.fd);
	assert_string_equal(r->out.data, "5\nnow\n");
	assert_in_range(progress.at, 5, 8 << 20);
}

static void echo_of_much_input_does_not_deadlock(void **state)
{
	struct test_sandbox *t = *state;
	size_t len = 8 * MIB;
	char *data = malloc(len);
	const struct sbx_result *r;

	assert_non_null(data);
	memset(data, 'e', len);
	test_set_limit(t, SBX_LIMIT_HEAD_BYTES, len);
	t->io = (struct sbx_io){.stdin_data = data, .stdin_len = len};
	r = test_shell(t, "cat");
	assert_int_equal(r->out.len, len);
	assert_memory_equal(r->out.data, data, len);
	free(data);
}

/* Case 94: exit_code, stdout and stderr stand first, in this order. */
static void the_json_form_has_its_keys_in_order(void **state)
{
	static const char *const first[] = {"exit_code", "stdout", "stderr"};
	const struct sbx_result *r = test_shell(*state, "echo häß; echo no >&2; exit 3");
	char *text = NULL;
	json_t *o;
	void *at;

	assert_int_equal(sbx_result_format_json(r, 2, &text, NULL), 0);
	o = json_loads(text, 0, NULL);
	assert_non_null(o);
	at = json_object_iter(o);
	for (size_t i = 0; i < 3; i++, at = json_object_iter_next(o, at))
		assert_string_equal(json_object_iter_key(at), first[i]);
	assert_int_equal(json_integer_value(json_object_get(o, "exit_code")), 3);
	assert_string_equal(json_string_value(json_object_get(o, "stdout")), "häß\n");
	assert_string_equal(json_string_value(json_object_get(o, "stderr")), "no\n");
	assert_true(json_is_false(json_object_get(o, "success")));
	assert_true(json_is_array(json_object_get(o, "isolation")));
	assert_memory_equal(text, "{\n  \"exit_code\": 3,\n", 20);
	json_decref(o);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sandbox_test(the_names_dev_stdout_and_dev_stderr_work),
		sandbox_test(bytes_that_are_no_text_are_kept_exactly),
		sandbox_test(callbacks_join_to_the_whole_output_and_the_exit_code_is_kept),
		sandbox_test(a_character_split_over_two_writes_stays_intact),
		sandbox_test(a_callback_that_gives_up_gets_a_whole_result),
		sandbox_test(callbacks_see_all_that_the_result_leaves_out),
		sandbox_test(head_and_tail_are_kept_to_the_byte),
		sandbox_test(output_of_exactly_head_and_tail_is_whole),
		sandbox_test(no_output_is_kept_when_the_limits_say_so),
		sandbox_test(a_program_is_never_killed_for_printing),
		sandbox_test(all_of_twenty_megabytes_is_kept_when_asked_for),
		sandbox_test(closed_streams_do_not_hide_the_exit_code),
		sandbox_test(stdin_is_at_its_end_from_the_start),
		sandbox_test(stdin_data_arrives_whole),
		sandbox_test(stdin_of_a_program_that_does_not_read_is_dropped),
		sandbox_test(stdin_comes_from_a_descriptor),
		sandbox_test(stdin_is_read_no_faster_than_the_program_reads),
		sandbox_test(echo_of_much_input_does_not_deadlock),
		sandbox_test(the_json_form_has_its_keys_in_order),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
