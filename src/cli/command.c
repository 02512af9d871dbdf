/* SPDX-License-Identifier: MIT */
#include "command.h"

#include "values.h"

#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {&cmd_run,    &cmd_exec,    &cmd_languages,
						  &cmd_doctor, &cmd_version, &cmd_help};

const struct command *command_at(size_t n)
{
	return n < sizeof(commands) / sizeof(commands[0]) ? commands[n] : NULL;
}

const struct command *command_find(const char *name)
{
	const struct command *c;

	for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
		if (strcmp(c->name, name) == 0)
			return c;
	}
	return NULL;
}

static void print_default(const struct option_row *row)
{
	const struct sbx_limit_info *info = sbx_limit_describe(row->limit);
	char text[32];

	if (row->kind != OPTION_LIMIT || info->standard == 0)
		return;
	value_format(info->standard, info->unit, text, sizeof(text));
	printf(" (default %s)", text);
}

static void print_option(const struct option_row *row)
{
	char left[64], letter[8] = "    ";

	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	snprintf(left, sizeof(left), "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
		 row->argument ? row->argument : "");
	if (strlen(left) > 26)
		printf("  %s\n  %26s  %s", left, "", row->help);
	else
		printf("  %-26s  %s", left, row->help);
	print_default(row);
	putchar('\n');
}

void command_print_help(const struct command *c)
{
	printf("Usage: llm-sandbox %s\n\n%s\n", c->usage, c->summary);
	if (c->options == 0)
		return;
	printf("\nOptions:\n");
	for (int i = 0; i < OPT_COUNT; i++) {
		if (option_rows[i].commands & c->options)
			print_option(&option_rows[i]);
	}
}
