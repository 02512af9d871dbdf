/* SPDX-License-Identifier: MIT */
/*
 * Runs when the project is built: writes the table of table.h as a C header, either with the filter's
 * instructions, so that the agent loads them as they are and needs no library, or with the profile that
 * container engines put around the agent, as JSON.
 *
 *	generate-seccomp filter|profile OUTPUT
 *
 * The kernel compiles the filter anew for every sandbox, in a time that grows with its length.
 * So runs of numbers with the same answer become one leaf of a binary search, which is a quarter
 * of the instructions that one comparison per call takes.
 *
 * A name that neither libseccomp nor table.h knows, and a call with two places in the table, end
 * the build.
 */
#include "agent/seccomp/table.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define CALLS_MAX   1024 /* more than any kernel has */
#define UNKNOWN	    ENOSYS
#define JUMP_MAX    255 /* what a conditional jump can skip */
#define PROGRAM_MAX BPF_MAXINSNS

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#error "the filter has not been made for this kind of machine yet"
#endif
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lower half of an argument is first");

static _Noreturn void fail(const char *what, const char *object)
{
	fprintf(stderr, "generate-seccomp: %s '%s'\n", what, object);
	exit(1);
}

/* ---- the answer to each number ---- */

/* An error, 0 for allowed, or the rows from `first` on. */
struct answer {
	bool named;
	int error;
	const struct seccomp_row *first;
};

static struct answer answers[CALLS_MAX];

/* The number of a call, or negative where this machine's kind has no such call. */
static int number_of(const char *name)
{
	int number;

	for (size_t i = 0; i < COUNT(seccomp_younger); i++)
		if (strcmp(seccomp_younger[i].name, name) == 0)
			return seccomp_younger[i].number;
	number = seccomp_syscall_resolve_name(name);
	if (number == __NR_SCMP_ERROR || number >= CALLS_MAX)
		fail("no such system call:", name);
	return number;
}

static void set_answer(const char *name, int error, const struct seccomp_row *first)
{
	int number = number_of(name);

	if (number < 0)
		return;
	if (answers[number].named)
		fail("two places in the table for", name);
	answers[number] = (struct answer){.named = true, .error = error, .first = first};
}

static bool is_last(const struct seccomp_row *row)
{
	return row->when[0].mask == 0;
}

static void set_answers(void)
{
	for (size_t i = 0; i < CALLS_MAX; i++)
		answers[i].error = UNKNOWN;
	for (size_t i = 0; i < COUNT(seccomp_allowed); i++)
		for (const char *const *name = seccomp_allowed[i].names; *name != NULL; name++)
			set_answer(*name, 0, NULL);
	for (size_t i = 0; i < COUNT(seccomp_left_out); i++)
		for (const char *const *name = seccomp_left_out[i].names; *name != NULL; name++)
			set_answer(*name, seccomp_left_out[i].error, NULL);
	for (size_t i = 0; i < COUNT(seccomp_rows); i++) {
		const struct seccomp_row *row = &seccomp_rows[i];
		bool begins = i == 0 || is_last(row - 1);

		if (begins)
			set_answer(row->name, 0, row);
		else if (strcmp(row->name, row[-1].name) != 0)
			fail("no row without a condition ends", row[-1].name);
	}
	if (!is_last(&seccomp_rows[COUNT(seccomp_rows) - 1]))
		fail("no row without a condition ends", seccomp_rows[COUNT(seccomp_rows) - 1].name);
}

static bool same(const struct answer *a, const struct answer *b)
{
	return a->error == b->error && a->first == b->first;
}

/* ---- instructions, from the last to the first ---- */

/*
 * The program is written backwards: what a jump skips is there already when the jump is
 * written, so that its distance is known.
 */
struct program {
	struct sock_filter backwards[PROGRAM_MAX];
	unsigned int count;
};

static void put(struct program *p, unsigned int code, uint32_t k, unsigned int jt, unsigned int jf)
{
	if (p->count == PROGRAM_MAX || jt > JUMP_MAX || jf > JUMP_MAX)
		fail("too long for the kernel:", "filter");
	p->backwards[p->count++] = (struct sock_filter){
		.code = (uint16_t)code, .jt = (uint8_t)jt, .jf = (uint8_t)jf, .k = k};
}

static void put_load(struct program *p, size_t offset)
{
	put(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void put_answer(struct program *p, int error)
{
	put(p, BPF_RET | BPF_K,
	    error == 0 ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)error, 0, 0);
}

/* If all conditions of the row hold its answer, else what follows. */
static void put_row(struct program *p, const struct seccomp_row *row)
{
	unsigned int end = p->count;

	put_answer(p, row->error);
	for (size_t i = SECCOMP_CONDITIONS_MAX; i-- > 0;) {
		const struct seccomp_condition *when = &row->when[i];

		if (when->mask == 0)
			continue;
		put(p, BPF_JMP | BPF_JEQ | BPF_K, when->value, 0, p->count - end);
		if (when->mask != ALL)
			put(p, BPF_ALU | BPF_AND | BPF_K, when->mask, 0, 0);
		put_load(p, offsetof(struct seccomp_data, args) + 8 * when->arg);
	}
}

static void put_rows(struct program *p, const struct seccomp_row *first)
{
	const struct seccomp_row *row = first;

	while (!is_last(row))
		row++;
	for (; row >= first; row--)
		put_row(p, row);
}

/* ---- the search ---- */

/* Numbers from `from` up to the next run's have the same answer. */
static unsigned int runs[CALLS_MAX];
static size_t run_count;

static void find_runs(void)
{
	for (unsigned int n = 0; n < CALLS_MAX; n++)
		if (n == 0 || !same(&answers[n], &answers[n - 1]))
			runs[run_count++] = n;
}

/* The number is loaded; it is in one of the runs from `low` to before `high`. */
static void put_search(struct program *p, size_t low, size_t high)
{
	size_t middle = low + (high - low) / 2;
	const struct answer *answer = &answers[runs[low]];
	unsigned int before, skipped;

	if (high - low == 1) {
		if (answer->first != NULL)
			put_rows(p, answer->first);
		else
			put_answer(p, answer->error);
		return;
	}
	put_search(p, middle, high);
	before = p->count;
	put_search(p, low, middle);
	skipped = p->count - before;
	if (skipped <= JUMP_MAX) {
		put(p, BPF_JMP | BPF_JGE | BPF_K, runs[middle], skipped, 0);
	} else {
		put(p, BPF_JMP | BPF_JA, skipped, 0, 0);
		put(p, BPF_JMP | BPF_JGE | BPF_K, runs[middle], 0, 1);
	}
}

/*
 * The numbers of foreign ABIs (i386, x32) mean other calls: none of them is served. Killing the
 * caller would be as safe, but the kernel writes a line to the machine's log for each kill.
 */
static void put_filter(struct program *p)
{
	put_search(p, 0, run_count);
	put_answer(p, UNKNOWN);
	put(p, BPF_JMP | BPF_JGE | BPF_K, CALLS_MAX, 0, 1);
	put_load(p, offsetof(struct seccomp_data, nr));
	put_answer(p, UNKNOWN);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0);
	put_load(p, offsetof(struct seccomp_data, arch));
}

static void write_filter(const struct program *p, FILE *header)
{
	fputs("/* Made by generate-seccomp from seccomp/table.h. */\n#include <linux/filter.h>\n\n"
	      "static const struct sock_filter seccomp_filter[] = {\n", header);
	for (unsigned int i = p->count; i-- > 0;) {
		const struct sock_filter *at = &p->backwards[i];

		fprintf(header, "\t{0x%02x, %u, %u, 0x%08x},\n", at->code, at->jt, at->jf, at->k);
	}
	fputs("};\n", header);
}

/* ---- the profile ---- */

/*
 * What engines read: docs.docker.com/engine/security/seccomp, and the "seccomp" of OCI's runtime-spec.
 * A profile can say which calls are allowed, and when; it has no order. So rows that allow some
 * arguments of a call become rules, and a call whose last row allows the rest is allowed: what its other
 * rows refuse is the agent's filter to refuse.
 *
 * Names that an engine does not know it passes over, and those that its machine does not have.
 */

/* As the engines' own profiles have it: without the smaller ones a call of theirs kills the caller. */
static const char profile_architectures[] =
	"{\"architecture\":\"SCMP_ARCH_X86_64\",\"subArchitectures\":[\"SCMP_ARCH_X86\",\"SCMP_ARCH_X32\"]},"
	"{\"architecture\":\"SCMP_ARCH_AARCH64\",\"subArchitectures\":[\"SCMP_ARCH_ARM\"]}";

/* JSON within a C string. */
static void write_text(FILE *header, const char *text)
{
	for (; *text != '\0'; text++)
		fprintf(header, *text == '"' ? "\\%c" : "%c", *text);
}

/* One of "syscalls", up to its action. */
static void begin_entry(FILE *header, const char *const *names, bool first)
{
	fputs("\"", header);
	write_text(header, first ? "{\"names\":[" : ",{\"names\":[");
	for (size_t i = 0; names[i] != NULL; i++) {
		number_of(names[i]);
		write_text(header, i == 0 ? "\"" : ",\"");
		write_text(header, names[i]);
		write_text(header, "\"");
	}
	write_text(header, "],");
}

static void write_allowed(FILE *header, const char *const *names, bool first)
{
	begin_entry(header, names, first);
	write_text(header, "\"action\":\"SCMP_ACT_ALLOW\"}");
	fputs("\"\n", header);
}

static void write_left_out(FILE *header, const struct seccomp_omission *group)
{
	begin_entry(header, group->names, false);
	write_text(header, "\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":");
	fprintf(header, "%d}\"\n", group->error);
}

/* No arguments fit both: the order of the two does not matter. */
static bool are_disjoint(const struct seccomp_row *a, const struct seccomp_row *b)
{
	for (size_t i = 0; i < SECCOMP_CONDITIONS_MAX; i++) {
		for (size_t k = 0; k < SECCOMP_CONDITIONS_MAX; k++) {
			const struct seccomp_condition *x = &a->when[i], *y = &b->when[k];

			if (x->arg == y->arg && ((x->value ^ y->value) & x->mask & y->mask) != 0)
				return true;
		}
	}
	return false;
}

static void check_order(const struct seccomp_row *first, const struct seccomp_row *row)
{
	for (const struct seccomp_row *before = first; before < row; before++)
		if (before->error != 0 && !are_disjoint(before, row))
			fail("a profile has no order, and this call's rows need one:", row->name);
}

static void write_row(FILE *header, const struct seccomp_row *row)
{
	const char *comma = "";

	begin_entry(header, NAMES(row->name), false);
	write_text(header, "\"action\":\"SCMP_ACT_ALLOW\",\"args\":[");
	for (size_t i = 0; i < SECCOMP_CONDITIONS_MAX; i++) {
		const struct seccomp_condition *when = &row->when[i];

		if (when->mask == 0)
			continue;
		write_text(header, comma);
		write_text(header, "{\"op\":\"SCMP_CMP_MASKED_EQ\",\"index\":");
		fprintf(header, "%u,", when->arg);
		write_text(header, "\"value\":");
		fprintf(header, "%u,", when->mask);
		write_text(header, "\"valueTwo\":");
		fprintf(header, "%u}", when->value);
		comma = ",";
	}
	fputs("]}\"\n", header);
}

/* The rows of one call; those behind them. */
static const struct seccomp_row *write_rows(FILE *header, const struct seccomp_row *first)
{
	const struct seccomp_row *last = first;

	while (!is_last(last))
		last++;
	if (last->error == 0) {
		write_allowed(header, NAMES(first->name), false);
		return last + 1;
	}
	for (const struct seccomp_row *row = first; row < last; row++) {
		if (row->error != 0)
			continue;
		check_order(first, row);
		write_row(header, row);
	}
	return last + 1;
}

static void write_profile(FILE *header)
{
	const struct seccomp_row *row = seccomp_rows;

	fputs("/* Made by generate-seccomp from seccomp/table.h. */\n\n"
	      "static const char seccomp_profile[] =\n\"", header);
	write_text(header, "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":");
	fprintf(header, "%d,", UNKNOWN);
	write_text(header, "\"archMap\":[");
	write_text(header, profile_architectures);
	write_text(header, "],\"syscalls\":[");
	fputs("\"\n", header);
	for (size_t i = 0; i < COUNT(seccomp_allowed); i++)
		write_allowed(header, seccomp_allowed[i].names, i == 0);
	for (size_t i = 0; i < COUNT(seccomp_left_out); i++)
		write_left_out(header, &seccomp_left_out[i]);
	while (row < seccomp_rows + COUNT(seccomp_rows))
		row = write_rows(header, row);
	fputs("\"]}\";\n", header);
}

int main(int argc, char **argv)
{
	static struct program program;
	bool profile = argc == 3 && strcmp(argv[1], "profile") == 0;
	FILE *header;

	if (argc != 3 || (!profile && strcmp(argv[1], "filter") != 0))
		fail("usage: generate-seccomp filter|profile", "OUTPUT");
	set_answers();
	find_runs();
	put_filter(&program);
	header = fopen(argv[2], "we");
	if (header == NULL)
		fail("cannot write", argv[2]);
	if (profile)
		write_profile(header);
	else
		write_filter(&program, header);
	if (ferror(header) || fclose(header) != 0)
		fail("cannot write", argv[2]);
	return 0;
}
