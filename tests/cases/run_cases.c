/* SPDX-License-Identifier: MIT */
/*
 * Runs cases that are data: run_cases FILE.cases..., each case in a sandbox of its own on the
 * backend that SBX_TEST_BACKEND names. README.md beside this says how a case is written.
 */
#include "support/sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASES_MAX    512
#define ARGS_MAX     8
#define SECTIONS_MAX 8
#define FILE_MAX     (1u << 20)
#define ANY_FAILURE  -1

struct section {
	char *name; /* "stdout has" */
	char *text;
};

struct test_case {
	char *title;	/* "go: hello" */
	char *language; /* owned */
	const char *file_name;
	const char *args[ARGS_MAX + 1];
	size_t arg_count;
	int exit_code; /* or ANY_FAILURE */
	enum sbx_phase phase;
	struct section sections[SECTIONS_MAX];
	size_t section_count;
};

static struct test_case cases[CASES_MAX];
static size_t case_count;

/* ---- reading ---- */

static void die(const char *path, const char *what, const char *line)
{
	printf("Bail out! %s: %s: '%s'\n", path, what, line);
	exit(1);
}

static char *read_file(const char *path)
{
	char *text = calloc(1, FILE_MAX + 1);
	FILE *f = fopen(path, "re");

	if (f == NULL || text == NULL)
		die(path, "cannot be read", "");
	if (fread(text, 1, FILE_MAX, f) == FILE_MAX)
		die(path, "is too large", "");
	fclose(f);
	return text;
}

/* "tests/cases/go.cases" is of the language go. */
static char *language_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = strdup(slash ? slash + 1 : path);

	name[strcspn(name, ".")] = '\0';
	return name;
}

static struct test_case *begin_case(const char *path, const char *title)
{
	struct test_case *c = &cases[case_count++];

	if (case_count > CASES_MAX)
		die(path, "too many cases", title);
	c->language = language_of(path);
	if (asprintf(&c->title, "%s: %s", c->language, title) < 0)
		die(path, "no memory", title);
	return c;
}

static void read_setting(const char *path, struct test_case *c, char *line)
{
	char *value = strstr(line, ": ");

	if (value == NULL)
		die(path, "neither 'name: value' nor '--- section'", line);
	*value = '\0';
	value += 2;
	if (strcmp(line, "exit") == 0)
		c->exit_code = strcmp(value, "not 0") == 0 ? ANY_FAILURE : atoi(value);
	else if (strcmp(line, "phase") == 0 && strcmp(value, "compile") == 0)
		c->phase = SBX_PHASE_COMPILE;
	else if (strcmp(line, "file") == 0)
		c->file_name = value;
	else if (strcmp(line, "arg") == 0 && c->arg_count < ARGS_MAX)
		c->args[c->arg_count++] = value;
	else
		die(path, "an unknown setting", line);
}

/* \xHH becomes that byte; nothing else is an escape. */
static void unescape(char *text)
{
	char *out = text;
	unsigned int byte;

	for (char *in = text; *in != '\0';) {
		if (sscanf(in, "\\x%2x", &byte) == 1) {
			*out++ = (char)byte;
			in += 4;
		} else {
			*out++ = *in++;
		}
	}
	*out = '\0';
}

static struct section *begin_section(const char *path, struct test_case *c, char *name)
{
	static const char *const names[] = {"code",	  "code escaped", "stdin",	"stdout",
					    "stdout has", "stderr",	  "stderr has", NULL};
	struct section *s = &c->sections[c->section_count++];
	size_t i = 0;

	while (names[i] != NULL && strcmp(names[i], name) != 0)
		i++;
	if (names[i] == NULL || c->section_count > SECTIONS_MAX)
		die(path, "an unknown section", name);
	s->name = name;
	return s;
}

/* An empty line before the next case is there for the eye. */
static void end_section(struct section *s, const char *end)
{
	if (s == NULL)
		return;
	if (*end == '=' && end > s->text && end[-1] == '\n' && (end - 1 == s->text || end[-2] == '\n'))
		end--;
	s->text = strndup(s->text, (size_t)(end - s->text));
	if (strcmp(s->name, "code escaped") == 0)
		unescape(s->text);
}

/* The file's text stays: names and values point into it. */
static void read_cases(const char *path)
{
	struct test_case *c = NULL;
	struct section *s = NULL;
	char *next;

	for (char *line = read_file(path); *line != '\0'; line = next) {
		char *end = strchr(line, '\n');

		if (end == NULL)
			die(path, "no newline at the end", line);
		next = end + 1;
		if (strncmp(line, "=== ", 4) == 0 || strncmp(line, "--- ", 4) == 0) {
			end_section(s, line);
			s = NULL;
			*end = '\0';
			if (line[0] == '=')
				c = begin_case(path, line + 4);
			else if (c != NULL)
				s = begin_section(path, c, line + 4);
			if (s != NULL)
				s->text = next;
		} else if (s == NULL) {
			*end = '\0';
			if (line[0] != '\0' && line[0] != '#' && c != NULL)
				read_setting(path, c, line);
		}
		if (*next == '\0')
			end_section(s, next);
	}
}

static const char *section(const struct test_case *c, const char *name)
{
	for (size_t i = 0; i < c->section_count; i++) {
		if (strcmp(c->sections[i].name, name) == 0)
			return c->sections[i].text;
	}
	return NULL;
}

/* ---- running ---- */

static void skip_or_fail(const struct sbx_error *err)
{
	const char *strict = getenv("SBX_TEST_STRICT");

	if (strict != NULL && strcmp(strict, "1") == 0)
		fail_msg("%s", err->msg);
	print_message("# skipped: %s\n", err->msg);
	skip();
}

/* Each line of `wanted` must be somewhere in the text. */
static void check_has(const char *stream, const char *text, const char *wanted)
{
	while (*wanted != '\0') {
		size_t len = strcspn(wanted, "\n");

		if (len > 0 && memmem(text, strlen(text), wanted, len) == NULL)
			fail_msg("%s has no '%.*s': %.2000s", stream, (int)len, wanted, text);
		wanted += len + (wanted[len] == '\n');
	}
}

static void check_stream(const struct test_case *c, const char *stream, const char *text)
{
	char name[32];
	const char *exact = section(c, stream), *has;

	snprintf(name, sizeof(name), "%s has", stream);
	has = section(c, name);
	if (exact != NULL && strcmp(exact, text) != 0)
		fail_msg("%s is '%.2000s' and not '%.2000s'", stream, text, exact);
	if (has != NULL)
		check_has(stream, text, has);
}

static void check_result(const struct test_case *c, const struct sbx_result *r)
{
	bool as_expected = c->exit_code == ANY_FAILURE ? r->exit_code != 0
						       : r->exit_code == c->exit_code;

	if (!as_expected || r->phase != c->phase)
		fail_msg("exit code %d in phase %s and not %d in phase %s, stderr: %.2000s", r->exit_code,
			 sbx_phase_name(r->phase), c->exit_code, sbx_phase_name(c->phase),
			 r->errout.data);
	check_stream(c, "stdout", r->out.data);
	check_stream(c, "stderr", r->errout.data);
}

/* What the test under way holds; freed at its end, however that comes. */
struct held {
	struct sbx_spec *spec;
	struct sbx_session *session;
	struct sbx_result *result;
};

static struct held held;

static int release(void **state)
{
	(void)state;
	sbx_result_free(held.result);
	sbx_session_close(held.session);
	sbx_spec_free(held.spec);
	held = (struct held){0};
	return 0;
}

static void run_case(void **state)
{
	const struct test_case *c = *state;
	const char *code = section(c, "code") ? section(c, "code") : section(c, "code escaped");
	const char *input = section(c, "stdin");
	struct sbx_error err = {0};
	struct sbx_run run = {
		.language = c->language,
		.code = code,
		.code_len = code ? strlen(code) : 0,
		.file_name = c->file_name,
		.args = c->args,
		.io = {.stdin_data = input, .stdin_len = input ? strlen(input) : 0},
	};
	int r = sbx_spec_new(&held.spec, &err);

	if (r == 0)
		r = test_use_backend(held.spec, &err);
	if (r == 0)
		r = sbx_session_open(held.spec, &held.session, &err);
	if (r == 0)
		r = sbx_session_run(held.session, &run, &held.result, &err);
	if (r < 0 && err.code == SBX_E_NOT_FOUND)
		skip_or_fail(&err);
	if (r < 0)
		fail_msg("%s", err.msg);
	check_result(c, held.result);
}

static void free_cases(void)
{
	for (size_t i = 0; i < case_count; i++) {
		for (size_t s = 0; s < cases[i].section_count; s++)
			free(cases[i].sections[s].text);
		free(cases[i].title);
		free(cases[i].language);
	}
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[CASES_MAX];
	int failed;

	for (int i = 1; i < argc; i++)
		read_cases(argv[i]);
	for (size_t i = 0; i < case_count; i++)
		tests[i] = (struct CMUnitTest){
			.name = cases[i].title,
			.test_func = run_case,
			.teardown_func = release,
			.initial_state = &cases[i],
		};
	failed = _cmocka_run_group_tests("cases", tests, case_count, NULL, NULL);
	free_cases();
	return failed == 0 && case_count > 0 ? 0 : 1;
}
