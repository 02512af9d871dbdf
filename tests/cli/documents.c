/* SPDX-License-Identifier: MIT */
/* Help, man page, completion and README say what the program does, and nothing is missing. */
#include "cli/driver.h"

#include <stdio.h>

#define MARK "<!-- tested -->\n```sh\n"

/* One line of "help --options". */
struct row {
	char *command, *name, *letter, *argument; /* the last three NULL for a command's own line */
};

static struct row split_row(char *line)
{
	struct row row = {.command = strsep(&line, "\t")};

	row.name = strsep(&line, "\t");
	row.letter = strsep(&line, "\t");
	row.argument = line;
	return row;
}

static void every_command_and_option_is_documented(void **state)
{
	const struct ran *dump = program(*state, (struct call){0}, "help", "--options", NULL);
	const struct ran *overview = program(*state, (struct call){0}, "help", NULL), *help = NULL;
	char *man = read_source("docs/man/llm-sandbox.1.scd"), *rest = dump->out, *line;
	char text[128];

	assert_status(dump, 0);
	while ((line = strsep(&rest, "\n")) != NULL && line[0] != '\0') {
		struct row row = split_row(line);

		if (row.name == NULL) {
			assert_contains(overview->out, row.command);
			snprintf(text, sizeof(text), "\n*%s*\n", row.command);
			assert_contains(man, text);
			help = program(*state, (struct call){0}, "help", row.command, NULL);
			continue;
		}
		assert_contains(help->out, row.name);
		snprintf(text, sizeof(text), "*%s*", row.name);
		assert_contains(man, text);
		snprintf(text, sizeof(text), "*%s*, *%s*", row.letter, row.name);
		if (row.letter[0] == '-')
			assert_contains(man, text);
	}
	free(man);
}

static void help_fits_eighty_columns(void **state)
{
	static const char *const names[] = {NULL,	"run",		 "repl",	 "exec",	 "languages",
					    "doctor",	"mcp",		 "version",	 "help",
					    "session",	"session start", "session list", "session stop",
					    "session logs", "session kill",
					    "kernel",	"kernel list",	 "kernel interrupt",
					    "kernel restart", "kernel reset", "kernel end",
					    "lib",	"lib add",	 "lib list",	 "lib remove",
					    "lib lock",	"lib verify",
					    "image",	"image build",	 "image import", "image list",
					    "image remove",
					    "cp",	"ls",		 "cat"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct ran *r = program(*state, (struct call){0}, "help", names[i], NULL);
		char *rest = r->out, *line;

		assert_status(r, 0);
		while ((line = strsep(&rest, "\n")) != NULL)
			assert_true(strlen(line) <= 80);
	}
}

static void help_flag_and_help_command_agree(void **state)
{
	assert_string_equal(program(*state, (struct call){0}, "run", "--help", NULL)->out,
			    program(*state, (struct call){0}, "help", "run", NULL)->out);
	assert_string_equal(program(*state, (struct call){0}, "--help", NULL)->out,
			    program(*state, (struct call){0}, "help", NULL)->out);
}

/* "--commit TAG" would take TAG for the file to run. */
static void help_shows_how_a_value_that_may_be_left_out_is_written(void **state)
{
	const char *help = program(*state, (struct call){0}, "help", "run", NULL)->out;

	assert_non_null(strstr(help, " --commit[=TAG]"));
}

static const char *complete(struct cli_state *t, const char *words)
{
	char script[1024];
	char *argv[] = {(char *)"bash", (char *)"-c", script, NULL};

	snprintf(script, sizeof(script),
		 "source '%s/packaging/llm-sandbox.bash'; COMP_WORDS=(llm-sandbox %s); "
		 "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _llm_sandbox; printf '%%s\\n' \"${COMPREPLY[@]}\"",
		 CLI_TEST_SOURCE, words);
	return command(t, (struct call){0}, argv)->out;
}

static void completion_knows_every_command_and_option(void **state)
{
	const struct ran *dump = program(*state, (struct call){0}, "help", "--options", NULL);
	const char *commands = complete(*state, "''"), *options = NULL;
	char *rest = dump->out, *line, words[64];

	while ((line = strsep(&rest, "\n")) != NULL && line[0] != '\0') {
		struct row row = split_row(line);

		if (row.name == NULL) {
			char *second = strchr(row.command, ' ');

			snprintf(words, sizeof(words), "%.*s ''",
				 (int)strcspn(row.command, " "), row.command);
			assert_contains(second ? complete(*state, words) : commands,
					second ? second + 1 : row.command);
			snprintf(words, sizeof(words), "%s --", row.command);
			options = complete(*state, words);
		} else {
			assert_contains(options, row.name);
		}
	}
	assert_contains(complete(*state, "run -l ja"), "javascript");
}

static void languages_and_version_have_json(void **state)
{
	const struct ran *r = program(*state, (struct call){0}, "version", NULL);

	assert_string_equal(r->out, "llm-sandbox 0.1.0\n");
	r = program(*state, (struct call){0}, "version", "--json", NULL);
	assert_string_equal(r->out, "{\"version\": \"0.1.0\"}\n");
}

/* The README's commands, one a line; "# exit N" behind one says how it ends. */
static void the_commands_of_the_readme_work(void **state)
{
	char *readme = read_source("README.md"), *block = readme, *end, *line;
	size_t count = 0;

	if (is_fake()) {
		free(readme);
		print_message("only where code is isolated\n");
		skip();
	}
	while ((block = strstr(block, MARK)) != NULL) {
		block += strlen(MARK);
		end = strstr(block, "```");
		assert_non_null(end);
		*end = '\0';
		while ((line = strsep(&block, "\n")) != NULL) {
			char *argv[] = {(char *)"bash", (char *)"-c", line, NULL};
			const char *exit_note = strstr(line, "# exit ");

			if (line[0] == '\0' || line[0] == '#')
				continue;
			print_message("%s\n", line);
			assert_status(command(*state, (struct call){0}, argv),
				      exit_note ? atoi(exit_note + 7) : 0);
			count++;
		}
		block = end + 1;
	}
	free(readme);
	assert_status(program(*state, (struct call){0}, "session", "stop", "--all", NULL), 0);
	assert_true(count >= 10);
}

int documents_group(void)
{
	const struct CMUnitTest tests[] = {
		cli_test(every_command_and_option_is_documented),
		cli_test(help_fits_eighty_columns),
		cli_test(help_flag_and_help_command_agree),
		cli_test(help_shows_how_a_value_that_may_be_left_out_is_written),
		cli_test(completion_knows_every_command_and_option),
		cli_test(languages_and_version_have_json),
		cli_test(the_commands_of_the_readme_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
