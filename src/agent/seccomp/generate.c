/* SPDX-License-Identifier: MIT */
/*
 * Runs when the project is built: writes the table of table.h as a C header with the filter's
 * instructions, so that the agent loads them as they are and needs no library.
 *
 *	generate-seccomp OUTPUT
 *
 * A name that neither libseccomp nor table.h knows, and two rules that contradict each other,
 * end the build.
 */
#include "agent/seccomp/table.h"

#include <linux/filter.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static _Noreturn void fail(const char *what, const char *object)
{
	fprintf(stderr, "generate-seccomp: %s '%s'\n", what, object);
	exit(1);
}

static uint32_t verdict(int error)
{
	return error == 0 ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO((uint16_t)error);
}

/* The number of a call, or negative where this machine's kind has no such call. */
static int number_of(const char *name)
{
	int number;

	for (size_t i = 0; i < COUNT(seccomp_younger); i++)
		if (strcmp(seccomp_younger[i].name, name) == 0)
			return seccomp_younger[i].number;
	number = seccomp_syscall_resolve_name(name);
	if (number == __NR_SCMP_ERROR)
		fail("no such system call:", name);
	return number;
}

static void add(scmp_filter_ctx filter, const char *name, int error,
		const struct seccomp_condition *when, size_t count)
{
	struct scmp_arg_cmp compare[3];
	unsigned int used = 0;
	int number = number_of(name);

	for (size_t i = 0; i < count; i++)
		if (when[i].mask != 0)
			compare[used++] = SCMP_CMP64(when[i].arg, SCMP_CMP_MASKED_EQ,
						     when[i].mask, when[i].value);
	if (number < 0 || error == ENOSYS) /* the latter is what the filter gives anyway */
		return;
	if (seccomp_rule_add_array(filter, verdict(error), number, used, compare) != 0)
		fail("cannot add a rule for", name);
}

static void add_groups(scmp_filter_ctx filter)
{
	for (size_t i = 0; i < COUNT(seccomp_allowed); i++)
		for (const char *const *name = seccomp_allowed[i].names; *name != NULL; name++)
			add(filter, *name, 0, NULL, 0);
	for (size_t i = 0; i < COUNT(seccomp_left_out); i++)
		for (const char *const *name = seccomp_left_out[i].names; *name != NULL; name++)
			add(filter, *name, seccomp_left_out[i].error, NULL, 0);
}

static void add_rows(scmp_filter_ctx filter)
{
	for (size_t i = 0; i < COUNT(seccomp_rows); i++)
		add(filter, seccomp_rows[i].name, seccomp_rows[i].error, seccomp_rows[i].when,
		    COUNT(seccomp_rows[i].when));
}

static int has_row(const char *name, uint32_t family)
{
	for (size_t i = 0; i < COUNT(seccomp_rows); i++)
		if (strcmp(seccomp_rows[i].name, name) == 0 &&
		    seccomp_rows[i].when[0].value == family)
			return 1;
	return 0;
}

static void add_refused_families(scmp_filter_ctx filter, const char *name)
{
	for (uint32_t family = 0; family <= SECCOMP_FAMILY_LAST; family++)
		if (!has_row(name, family))
			add(filter, name, EAFNOSUPPORT,
			    &(struct seccomp_condition){0, ALL, family}, 1);
}

static void add_refused_netlink(scmp_filter_ctx filter)
{
	for (uint32_t protocol = 1; protocol <= SECCOMP_NETLINK_LAST; protocol++)
		add(filter, "socket", EPROTONOSUPPORT,
		    (struct seccomp_condition[]){{0, ALL, AF_NETLINK}, {2, ALL, protocol}}, 2);
}

/*
 * libseccomp cannot say "none of these values" when there are several. All numbers but n can be
 * said as at most 32 * n prefixes: split the numbers in halves, bit by bit, until a half has
 * none of the values in it.
 */
static void add_others(scmp_filter_ctx filter, const struct seccomp_exception *e, uint32_t mask,
		       uint32_t value)
{
	uint32_t next = mask == 0 ? 0x80000000u : mask >> 1 & ~mask;
	size_t inside = 0;

	for (size_t i = 0; i < e->count; i++)
		inside += (e->values[i] & mask) == value;
	if (inside == 0) {
		add(filter, e->name, e->only ? e->error : 0,
		    &(struct seccomp_condition){e->arg, mask, value}, 1);
		return;
	}
	if (mask == ALL)
		return;
	add_others(filter, e, mask | next, value);
	add_others(filter, e, mask | next, value | next);
}

static void add_exceptions(scmp_filter_ctx filter)
{
	for (size_t i = 0; i < COUNT(seccomp_all_but); i++) {
		const struct seccomp_exception *e = &seccomp_all_but[i];

		for (size_t n = 0; n < e->count; n++)
			add(filter, e->name, e->only ? 0 : e->error,
			    &(struct seccomp_condition){e->arg, ALL, e->values[n]}, 1);
		add_others(filter, e, 0, 0);
	}
}

/*
 * The numbers of foreign ABIs (i386, x32) mean other calls: none of them is served. Killing the
 * caller would be as safe, but the kernel writes a line to the machine's log for each kill.
 */
static scmp_filter_ctx make_filter(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));

	if (filter == NULL ||
	    seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)) != 0 ||
	    seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2) != 0)
		fail("cannot make", "filter");
	add_groups(filter);
	add_rows(filter);
	add_refused_families(filter, "socket");
	add_refused_families(filter, "socketpair");
	add_refused_netlink(filter);
	add_exceptions(filter);
	return filter;
}

static void write_instructions(FILE *binary, FILE *header)
{
	struct sock_filter at;
	size_t count = 0;

	fputs("/* Made by generate-seccomp from seccomp/table.h. */\n#include <linux/filter.h>\n\n"
	      "static const struct sock_filter seccomp_filter[] = {\n", header);
	for (; fread(&at, sizeof(at), 1, binary) == 1; count++)
		fprintf(header, "\t{0x%02x, %u, %u, 0x%08x},\n", at.code, at.jt, at.jf, at.k);
	fputs("};\n", header);
	if (count == 0 || count > BPF_MAXINSNS)
		fail("the kernel takes 1 to 4096 instructions:", "filter");
}

int main(int argc, char **argv)
{
	scmp_filter_ctx filter;
	FILE *binary = tmpfile(), *header;

	if (argc != 2)
		fail("usage: generate-seccomp", "OUTPUT");
	filter = make_filter();
	if (binary == NULL || seccomp_export_bpf(filter, fileno(binary)) != 0)
		fail("cannot export", "filter");
	rewind(binary);
	header = fopen(argv[1], "we");
	if (header == NULL)
		fail("cannot write", argv[1]);
	write_instructions(binary, header);
	if (ferror(header) || fclose(header) != 0)
		fail("cannot write", argv[1]);
	fclose(binary);
	seccomp_release(filter);
	return 0;
}
