/* SPDX-License-Identifier: MIT */
/* The filter as the kernel would run it, against the table it was made from. */
#include "agent/seccomp/table.h"
#include "seccomp_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#else
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

/* The few instructions that a filter has. */
static uint32_t run_filter(const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t at = 0; at < COUNT(seccomp_filter); at++) {
		const struct sock_filter *i = &seccomp_filter[at];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(i->k + sizeof(a) <= sizeof(*data));
			memcpy(&a, (const char *)data + i->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			at += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JA:
			at += i->k;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			fail_msg("an instruction that nobody expects: 0x%x", i->code);
		}
	}
	fail_msg("the filter has no end");
	return 0;
}

static uint32_t answer(long number, uint64_t arg0, uint64_t arg1, uint64_t arg2)
{
	struct seccomp_data data = {
		.nr = (int)number, .arch = OUR_ARCH, .args = {arg0, arg1, arg2}};

	return run_filter(&data);
}

static uint32_t error(int number)
{
	return SECCOMP_RET_ERRNO | (uint32_t)number;
}

static void what_is_listed_as_free_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(answer(SYS_read, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(SYS_openat, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(SYS_getrandom, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(SYS_execve, 0, 0, 0), SECCOMP_RET_ALLOW);
}

static void what_is_left_out_gives_its_error(void **state)
{
	(void)state;
	assert_int_equal(answer(SYS_mount, 0, 0, 0), error(EPERM));
	assert_int_equal(answer(SYS_bpf, 0, 0, 0), error(EPERM));
	assert_int_equal(answer(SYS_ptrace, 0, 0, 0), error(EPERM));
	assert_int_equal(answer(SYS_clone3, 0, 0, 0), error(ENOSYS));
}

static void what_nobody_names_is_unknown(void **state)
{
	(void)state;
	for (long number = 500; number < 5000; number++)
		assert_int_equal(answer(number, 0, 0, 0), error(ENOSYS));
	assert_int_equal(answer(-1, 0, 0, 0), error(ENOSYS));
	/* x32: the number of read() with the bit of that ABI. */
	assert_int_equal(answer(0x40000000, 0, 0, 0), error(ENOSYS));
	assert_int_equal(answer(0x40000000 + SYS_read, 0, 0, 0), error(ENOSYS));
}

static void another_machine_s_numbers_are_unknown(void **state)
{
	(void)state;
	for (int number = 0; number < 512; number++) {
		struct seccomp_data data = {.nr = number, .arch = AUDIT_ARCH_I386};

		assert_int_equal(run_filter(&data), error(ENOSYS));
	}
}

/* Of the rows of one call, the answer of the first that fits; -1: this call has no rows. */
static long answer_of_rows(const char *name, const uint64_t args[3])
{
	for (size_t i = 0; i < COUNT(seccomp_rows); i++) {
		const struct seccomp_row *row = &seccomp_rows[i];
		bool fits = strcmp(row->name, name) == 0;

		for (size_t c = 0; fits && c < SECCOMP_CONDITIONS_MAX; c++)
			fits = ((uint32_t)args[row->when[c].arg] & row->when[c].mask) ==
			       row->when[c].value;
		if (fits)
			return row->error == 0 ? (long)SECCOMP_RET_ALLOW : (long)error(row->error);
	}
	return -1;
}

static const struct {
	const char *name;
	long number;
} with_rows[] = {
	{"clone", SYS_clone},	    {"socket", SYS_socket}, {"socketpair", SYS_socketpair},
	{"mknodat", SYS_mknodat},   {"ioctl", SYS_ioctl},   {"prctl", SYS_prctl},
	{"personality", SYS_personality},
#ifdef SYS_mknod
	{"mknod", SYS_mknod},
#endif
};

static void every_argument_decides_as_the_rows_say(void **state)
{
	static const uint64_t upper[] = {0, 1ull << 32, 0xdeadbeefull << 32};
	static const uint64_t values[] = {
		0, 1, 2, 3, 4, 5, 6, 10, 16, 17, 35, 40, 62, 132, 256, 0x80001, 0x800,
		0x80803, S_IFREG | 0644, S_IFCHR | 0666, S_IFBLK, S_IFIFO, S_IFSOCK, S_IFDIR,
		TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCGWINSZ, CLONE_NEWUSER, CLONE_NEWNET | 17,
		CLONE_VM | CLONE_VFORK | 17, 0x0400000, 0xffffffff, 0x7fffffff,
	};

	(void)state;
	for (size_t c = 0; c < COUNT(with_rows); c++)
		for (size_t i = 0; i < COUNT(values) * COUNT(values) * COUNT(values); i++) {
			uint64_t args[3] = {
				values[i % COUNT(values)] | upper[i % COUNT(upper)],
				values[i / COUNT(values) % COUNT(values)] | upper[i / 7 % COUNT(upper)],
				values[i / COUNT(values) / COUNT(values)],
			};

			assert_int_equal(answer(with_rows[c].number, args[0], args[1], args[2]),
					 answer_of_rows(with_rows[c].name, args));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_listed_as_free_is_allowed),
		cmocka_unit_test(what_is_left_out_gives_its_error),
		cmocka_unit_test(what_nobody_names_is_unknown),
		cmocka_unit_test(another_machine_s_numbers_are_unknown),
		cmocka_unit_test(every_argument_decides_as_the_rows_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
