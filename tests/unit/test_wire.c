/* SPDX-License-Identifier: MIT */
/* What src/wire promises: what was formatted is parsed back, and nothing else is accepted. */
#include "base/auto.h"
#include "base/error.h"
#include "wire/conn.h"
#include "wire/frame.h"
#include "wire/message.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- one sample of each message, so that a promise can be tested on all of them ---- */

static char *sample_argv[] = {(char *)"prog", (char *)"", (char *)"a b", NULL};
static char *sample_env[] = {(char *)"A=1", NULL};

static const struct wire_hello sample_hello = {.version = 1, .pid = 2, .uid = 3};
static const struct wire_setup sample_setup = {
	.fences = 5, .uid = 1000, .gid = 1001, .workdir = (char *)"/sandbox",
	.writable = {(char *)"/tmp", (char *)"/x"}, .writable_count = 2,
	.rlimits = {{.resource = 7, .value = UINT64_MAX}}, .rlimit_count = 1,
};
static const struct wire_ready sample_ready = {.fence_errno = {1, 2, 3, 4, 5, 6}, .kernel = "6.1"};
static const struct wire_exec sample_exec = {
	.flags = 3, .wall_ms = 1, .cpu_ms = 2, .head_bytes = 3, .tail_bytes = UINT64_MAX,
	.cwd = (char *)"", .argv = sample_argv, .env = sample_env,
};
static const struct wire_exit sample_exit = {
	.reason = WIRE_KILLED, .status = 9, .killed = 1, .wall_ns = 2, .user_us = 3,
	.system_us = 4, .max_rss_bytes = 5, .read_bytes = 6, .write_bytes = 7,
	.total = {8, 9}, .dropped = {10, 11},
};
static const struct wire_signal sample_signal = {.signo = SIGINT, .scope = WIRE_SCOPE_GROUP};
static const struct wire_credit sample_credit = {.flow = WIRE_FLOW_DATA, .bytes = 65536};
static const struct wire_put sample_put = {
	.mode = 0640, .how = WIRE_PUT_APPEND, .size = 1, .mtime_ns = 2, .path = (char *)"a/b"};
static const struct wire_get sample_get = {
	.deep = 1, .offset = 2, .length = UINT64_MAX, .most = 4, .path = (char *)"/etc"};
static const struct wire_list sample_list = {
	.deep = 1, .most = 99, .most_seen = 100, .since_ns = 7, .path = (char *)""};
static const struct wire_path sample_path = {.path = (char *)"/etc"};
static const struct wire_remove sample_remove = {.deep = 1, .path = (char *)"x"};
static const struct wire_mkdir sample_mkdir = {.mode = 0755, .path = (char *)"x/y"};
static const struct wire_hole sample_hole = {.bytes = 1ull << 40};
static const struct wire_entry sample_entry = {
	.kind = WIRE_LINK, .mode = 0777, .size = 1, .mtime_ns = 2, .ctime_ns = 3,
	.name = (char *)"d/n\n"};
static const struct wire_pong sample_pong = {.clock_ns = 1ull << 60};
static const struct wire_usage sample_usage = {.peak_memory_bytes = 1ull << 40, .oom_kills = 3};
static const struct wire_error sample_error = {
	.code = SBX_E_LIMIT, .sys_errno = 28, .text = (char *)"no space"};
static const struct wire_port sample_port = {.port = 3128};
static const struct wire_connect sample_connect = {
	.how = WIRE_HOW_SOCKS5, .port = 443, .host = (char *)"example.org", .fault = (char *)""};
static const struct wire_refused sample_refused = {
	.kind = WIRE_REFUSED_TIMEOUT, .text = (char *)"no answer"};

static void wire_hello_done(struct wire_hello *m)
{
	(void)m;
}
static void wire_ready_done(struct wire_ready *m)
{
	(void)m;
}
static void wire_exit_done(struct wire_exit *m)
{
	(void)m;
}
static void wire_signal_done(struct wire_signal *m)
{
	(void)m;
}
static void wire_credit_done(struct wire_credit *m)
{
	(void)m;
}
static void wire_hole_done(struct wire_hole *m)
{
	(void)m;
}
static void wire_pong_done(struct wire_pong *m)
{
	(void)m;
}
static void wire_usage_done(struct wire_usage *m)
{
	(void)m;
}
static void wire_port_done(struct wire_port *m)
{
	(void)m;
}

/* Parse and format again: false when it does not parse. */
typedef bool echo_fn(const void *payload, size_t len, struct sbx_buf *ret);
typedef void sample_fn(struct sbx_buf *ret);

#define X(name)                                                                    \
	static bool echo_##name(const void *payload, size_t len, struct sbx_buf *ret)  \
	{                                                                          \
		struct wire_##name m;                                              \
                                                                                   \
		if (!wire_##name##_parse(payload, len, &m))                        \
			return false;                                              \
		wire_##name##_format(ret, &m);                                     \
		wire_##name##_done(&m);                                            \
		return true;                                                       \
	}                                                                          \
	static void format_##name(struct sbx_buf *ret)                             \
	{                                                                          \
		wire_##name##_format(ret, &sample_##name);                         \
	}
WIRE_MESSAGES(X)
#undef X

static const struct {
	echo_fn *echo;
	sample_fn *sample;
} messages[] = {
#define X(name) {echo_##name, format_##name},
	WIRE_MESSAGES(X)
#undef X
};

#define MESSAGES (sizeof(messages) / sizeof(messages[0]))

static void every_message_comes_back_as_it_was(void **state)
{
	(void)state;
	for (size_t i = 0; i < MESSAGES; i++) {
		auto_buf struct sbx_buf a = SBX_BUF_INIT(4096), b = SBX_BUF_INIT(4096);

		messages[i].sample(&a);
		assert_true(messages[i].echo(a.data, a.len, &b));
		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.data, b.data, a.len);
	}
}

static void every_truncation_is_rejected(void **state)
{
	(void)state;
	for (size_t i = 0; i < MESSAGES; i++) {
		auto_buf struct sbx_buf a = SBX_BUF_INIT(4096), b = SBX_BUF_INIT(4096);

		messages[i].sample(&a);
		for (size_t len = 0; len < a.len; len++) {
			/* A copy of just this length, so that a read past it is seen. */
			auto_free char *cut = malloc(len + (len == 0));

			assert_non_null(cut);
			memcpy(cut, a.data, len);
			assert_false(messages[i].echo(cut, len, &b));
		}
	}
}

static void a_byte_too_many_is_rejected(void **state)
{
	(void)state;
	for (size_t i = 0; i < MESSAGES; i++) {
		auto_buf struct sbx_buf a = SBX_BUF_INIT(4096), b = SBX_BUF_INIT(4096);

		messages[i].sample(&a);
		sbx_buf_append(&a, "", 1);
		assert_false(messages[i].echo(a.data, a.len, &b));
	}
}

/* ---- single messages ---- */

#define REJECTED(name, ...)                                                      \
	do {                                                                     \
		auto_buf struct sbx_buf b_ = SBX_BUF_INIT(1u << 20);             \
		auto_buf struct sbx_buf ignored_ = SBX_BUF_INIT(1u << 20);       \
		struct wire_##name m_ = sample_##name;                           \
                                                                                 \
		__VA_ARGS__;                                                     \
		wire_##name##_format(&b_, &m_);                                  \
		assert_false(echo_##name(b_.data, b_.len, &ignored_));           \
	} while (0)

static void values_out_of_range_are_rejected(void **state)
{
	char *none[] = {NULL};

	(void)state;
	REJECTED(exec, m_.argv = none);
	REJECTED(exec, m_.flags = WIRE_EXEC_CONTROL);
	REJECTED(exit, m_.reason = WIRE_REASON_COUNT);
	REJECTED(exit, m_.status = 256);
	REJECTED(signal, m_.signo = 0);
	REJECTED(signal, m_.signo = 65);
	REJECTED(signal, m_.scope = WIRE_SCOPE_TREE + 1);
	REJECTED(credit, m_.flow = WIRE_FLOW_DATA + 1);
	REJECTED(put, m_.mode = 04755);
	REJECTED(put, m_.how = WIRE_PUT_COUNT);
	REJECTED(get, m_.deep = 2);
	REJECTED(list, m_.deep = 2);
	REJECTED(remove, m_.deep = 2);
	REJECTED(mkdir, m_.mode = 01777);
	REJECTED(hole, m_.bytes = 0);
	REJECTED(entry, m_.kind = 'x');
	REJECTED(error, m_.code = SBX_OK);
	REJECTED(error, m_.code = SBX_E_PROTOCOL + 1);
}

static void a_name_that_is_no_single_component_is_rejected(void **state)
{
	(void)state;
	REJECTED(entry, m_.name = (char *)"..");
	REJECTED(entry, m_.name = (char *)"a/../b");
	REJECTED(entry, m_.name = (char *)"a//b");
	REJECTED(entry, m_.name = (char *)"a/");
	REJECTED(entry, m_.name = (char *)"/etc/passwd");
}

static void a_nul_byte_in_a_string_is_rejected(void **state)
{
	auto_buf struct sbx_buf b = SBX_BUF_INIT(4096), ignored = SBX_BUF_INIT(4096);

	(void)state;
	wire_put_string(&b, "a\0b", 3);
	assert_false(echo_path(b.data, b.len, &ignored));
}

static void a_count_larger_than_its_message_allocates_nothing(void **state)
{
	auto_buf struct sbx_buf b = SBX_BUF_INIT(4096), ignored = SBX_BUF_INIT(4096);

	(void)state;
	wire_put_u32(&b, 0);
	for (int i = 0; i < 4; i++)
		wire_put_u64(&b, 0);
	wire_put_cstring(&b, "");
	wire_put_u32(&b, UINT32_MAX);
	assert_false(echo_exec(b.data, b.len, &ignored));
}

static void a_string_longer_than_its_message_is_rejected(void **state)
{
	auto_buf struct sbx_buf b = SBX_BUF_INIT(4096), ignored = SBX_BUF_INIT(4096);

	(void)state;
	wire_put_u32(&b, UINT32_MAX);
	sbx_buf_puts(&b, "abc");
	assert_false(echo_path(b.data, b.len, &ignored));
}

/* ---- frames ---- */

static size_t make_frame(uint8_t *ret, unsigned int type, size_t len)
{
	wire_header_format(ret, type, 7, len);
	memset(ret + WIRE_HEADER_SIZE, 'x', len);
	return WIRE_HEADER_SIZE + len;
}

static void a_frame_is_parsed_when_it_is_whole(void **state)
{
	struct wire_frame frame;
	uint8_t data[64];
	size_t len = make_frame(data, WIRE_DATA, 20);

	(void)state;
	for (size_t n = 0; n < len; n++)
		assert_int_equal(wire_frame_parse(data, n, 'h', &frame), 0);
	assert_int_equal(wire_frame_parse(data, sizeof(data), 'h', &frame), len);
	assert_int_equal(frame.type, WIRE_DATA);
	assert_int_equal(frame.channel, 7);
	assert_int_equal(frame.len, 20);
	assert_ptr_equal(frame.payload, data + WIRE_HEADER_SIZE);
}

static void a_frame_of_the_wrong_direction_is_rejected(void **state)
{
	struct wire_frame frame;
	uint8_t data[128];

	(void)state;
	make_frame(data, WIRE_STDOUT, 20);
	assert_int_equal(wire_frame_parse(data, sizeof(data), 'h', &frame), -1);
	make_frame(data, WIRE_STDIN, 20);
	assert_int_equal(wire_frame_parse(data, sizeof(data), 'a', &frame), -1);
}

static void an_unknown_type_is_rejected_by_its_header(void **state)
{
	struct wire_frame frame;
	uint8_t data[16];

	(void)state;
	for (unsigned int type = 0; type < 256; type++) {
		bool known = strcmp(wire_type_name(type & ~WIRE_MORE), "?") != 0;

		wire_header_format(data, type, 0, 100);
		if (!known) {
			assert_int_equal(wire_frame_parse(data, 5, 'h', &frame), -1);
			assert_int_equal(wire_frame_parse(data, 5, 'a', &frame), -1);
		}
	}
}

static void a_frame_too_long_is_rejected_by_its_length(void **state)
{
	static uint8_t data[WIRE_HEADER_SIZE + WIRE_PAYLOAD_MAX];
	struct wire_frame frame;

	(void)state;
	make_frame(data, WIRE_DATA, WIRE_PAYLOAD_MAX);
	assert_int_equal(wire_frame_parse(data, sizeof(data), 'h', &frame), sizeof(data));
	wire_header_format(data, WIRE_DATA, 0, WIRE_PAYLOAD_MAX + 1);
	assert_int_equal(wire_frame_parse(data, 4, 'h', &frame), -1);
	memset(data, 0xff, 4);
	assert_int_equal(wire_frame_parse(data, 4, 'h', &frame), -1);
	memset(data, 0, 4);
	assert_int_equal(wire_frame_parse(data, 4, 'h', &frame), -1);
}

static void only_setup_and_exec_may_be_continued(void **state)
{
	struct wire_frame frame;
	uint8_t data[128];

	(void)state;
	make_frame(data, WIRE_EXEC | WIRE_MORE, 1);
	assert_true(wire_frame_parse(data, sizeof(data), 'h', &frame) > 0);
	assert_true(frame.more);
	make_frame(data, WIRE_DATA | WIRE_MORE, 1);
	assert_int_equal(wire_frame_parse(data, sizeof(data), 'h', &frame), -1);
}

static void a_frame_below_its_least_length_is_rejected(void **state)
{
	struct wire_frame frame;
	uint8_t data[128];

	(void)state;
	make_frame(data, WIRE_SIGNAL, 4);
	assert_int_equal(wire_frame_parse(data, sizeof(data), 'h', &frame), -1);
}

/* ---- the connection ---- */

/*
 * A reader that is always a little behind never lets the queue become empty. What was written
 * must not count against its maximum.
 */
static void a_queue_that_is_never_empty_carries_any_amount(void **state)
{
	static char piece[WIRE_PAYLOAD_MAX], sink[WIRE_PAYLOAD_MAX];
	struct sbx_conn c;
	struct sbx_error err;
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	sbx_conn_init(&c, fds[0], 'h');
	for (int i = 0; i < 8; i++)
		assert_int_equal(sbx_conn_queue(&c, WIRE_STDOUT, 1, piece, sizeof(piece), &err), 0);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(sbx_conn_queue(&c, WIRE_STDOUT, 1, piece, sizeof(piece), &err), 0);
		assert_int_equal(sbx_conn_flush(&c, &err), 0);
		assert_true(sbx_conn_has_output(&c));
		assert_int_equal(recv(fds[1], sink, sizeof(sink), MSG_WAITALL), sizeof(sink));
	}
	sbx_conn_done(&c);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_comes_back_as_it_was),
		cmocka_unit_test(every_truncation_is_rejected),
		cmocka_unit_test(a_byte_too_many_is_rejected),
		cmocka_unit_test(values_out_of_range_are_rejected),
		cmocka_unit_test(a_name_that_is_no_single_component_is_rejected),
		cmocka_unit_test(a_nul_byte_in_a_string_is_rejected),
		cmocka_unit_test(a_count_larger_than_its_message_allocates_nothing),
		cmocka_unit_test(a_string_longer_than_its_message_is_rejected),
		cmocka_unit_test(a_frame_is_parsed_when_it_is_whole),
		cmocka_unit_test(a_frame_of_the_wrong_direction_is_rejected),
		cmocka_unit_test(an_unknown_type_is_rejected_by_its_header),
		cmocka_unit_test(a_frame_too_long_is_rejected_by_its_length),
		cmocka_unit_test(only_setup_and_exec_may_be_continued),
		cmocka_unit_test(a_frame_below_its_least_length_is_rejected),
		cmocka_unit_test(a_queue_that_is_never_empty_carries_any_amount),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
