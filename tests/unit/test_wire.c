/* SPDX-License-Identifier: MIT */
#include "wire/frame.h"
#include "wire/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_frame_comes_out_as_it_went_in(void **state)
{
	uint8_t bytes[WIRE_HEADER_SIZE + 3] = {0};
	struct wire_frame f;

	(void)state;
	wire_header_format(bytes, WIRE_STDOUT, 7, 3);
	memcpy(bytes + WIRE_HEADER_SIZE, "abc", 3);
	for (size_t n = 0; n < sizeof(bytes); n++)
		assert_int_equal(wire_frame_parse(bytes, n, 'a', &f), 0);
	assert_int_equal(wire_frame_parse(bytes, sizeof(bytes), 'a', &f), sizeof(bytes));
	assert_int_equal(f.type, WIRE_STDOUT);
	assert_int_equal(f.channel, 7);
	assert_memory_equal(f.payload, "abc", 3);
}

static void a_frame_of_the_wrong_side_is_refused(void **state)
{
	uint8_t bytes[WIRE_HEADER_SIZE];
	struct wire_frame f;

	(void)state;
	wire_header_format(bytes, WIRE_STDOUT, 1, 0);
	assert_int_equal(wire_frame_parse(bytes, sizeof(bytes), 'h', &f), -1);
	wire_header_format(bytes, 99, 1, 0);
	assert_int_equal(wire_frame_parse(bytes, sizeof(bytes), 'a', &f), -1);
}

static void a_frame_that_is_too_long_is_refused_by_its_length_alone(void **state)
{
	uint8_t bytes[WIRE_HEADER_SIZE];
	struct wire_frame f;

	(void)state;
	wire_header_format(bytes, WIRE_STDOUT, 1, WIRE_PAYLOAD_MAX + 1);
	assert_int_equal(wire_frame_parse(bytes, 4, 'a', &f), -1);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(wire_frame_parse(bytes, 4, 'a', &f), -1);
}

static void an_exec_comes_out_as_it_went_in_and_no_part_of_it_does(void **state)
{
	char *argv[] = {(char *)"python3", (char *)"", (char *)"x y", NULL};
	char *env[] = {(char *)"A=b", NULL};
	struct wire_exec m = {.flags = 3, .wall_ms = 1, .cwd = (char *)"/tmp", .argv = argv, .env = env};
	struct sbx_buf b = SBX_BUF_INIT(4096);
	struct wire_exec got;

	(void)state;
	wire_exec_format(&b, &m);
	assert_true(wire_exec_parse(b.data, b.len, &got));
	assert_string_equal(got.argv[2], "x y");
	assert_null(got.argv[3]);
	assert_string_equal(got.env[0], "A=b");
	wire_exec_done(&got);
	for (size_t n = 0; n < b.len; n++)
		assert_false(wire_exec_parse(b.data, n, &got));
	sbx_buf_done(&b);
}

static void a_name_from_inside_is_one_component(void **state)
{
	const char *const bad[] = {"", ".", "..", "a/b", "/etc/passwd"};
	struct wire_entry e = {.kind = WIRE_FILE}, got;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sbx_buf b = SBX_BUF_INIT(4096);

		e.name = (char *)bad[i];
		wire_entry_format(&b, &e);
		assert_false(wire_entry_parse(b.data, b.len, &got));
		sbx_buf_done(&b);
	}
}

static void a_buffer_never_grows_past_its_maximum(void **state)
{
	struct sbx_buf b = SBX_BUF_INIT(5);

	(void)state;
	sbx_buf_puts(&b, "12345");
	assert_false(b.failed);
	sbx_buf_puts(&b, "6");
	assert_true(b.failed);
	assert_string_equal(b.data, "12345");
	sbx_buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_comes_out_as_it_went_in),
		cmocka_unit_test(a_frame_of_the_wrong_side_is_refused),
		cmocka_unit_test(a_frame_that_is_too_long_is_refused_by_its_length_alone),
		cmocka_unit_test(an_exec_comes_out_as_it_went_in_and_no_part_of_it_does),
		cmocka_unit_test(a_name_from_inside_is_one_component),
		cmocka_unit_test(a_buffer_never_grows_past_its_maximum),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
