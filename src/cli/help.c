/* SPDX-License-Identifier: MIT */
#include "cli/help.h"

#include "cli/trouble.h"
#include "cli/value.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WIDTH  80
#define INDENT 30 /* of what options mean */

static const char *const group_titles[GROUP_COUNT] = {
	[GROUP_CODE] = "Code",
	[GROUP_LIBRARIES] = "Libraries",
	[GROUP_SESSION] = "Session",
	[GROUP_LIMITS] = "Limits",
	[GROUP_SANDBOX] = "Sandbox",
	[GROUP_NETWORK] = "Network",
	[GROUP_SERVER] = "Server",
	[GROUP_OUTPUT] = "Output",
};

/* A heading, bold where that can be seen. */
static void heading(FILE *f, bool color, const char *text)
{
	fprintf(f, "\n%s%s%s\n", color ? "\033[1m" : "", text, color ? "\033[0m" : "");
}

/* Words from column `at` on, with line breaks before the width ends. */
static void wrap(FILE *f, int at, const char *text)
{
	int column = at;

	while (*text != '\0') {
		int len = (int)strcspn(text, " ");

		if (column > at && column + 1 + len > WIDTH) {
			fprintf(f, "\n%*s", at, "");
			column = at;
		} else if (column > at) {
			fputc(' ', f);
			column++;
		}
		fprintf(f, "%.*s", len, text);
		column += len;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', f);
}

/* ---- options ---- */

static void describe(const struct option_row *o, char *ret, size_t size)
{
	const struct sbx_limit_info *info;
	char least[VALUE_TEXT_MAX], most[VALUE_TEXT_MAX], standard[VALUE_TEXT_MAX];

	if (o->kind != OPTION_LIMIT) {
		snprintf(ret, size, "%s", option_help(o));
		return;
	}
	info = sbx_limit_describe(o->limit);
	value_format(info->unit, info->least, least);
	value_format(info->unit, info->most, most);
	value_format(info->unit, info->standard, standard);
	snprintf(ret, size, "%s (default %s, from %s to %s%s)", info->summary, standard, least, most,
		 value_may_be_none(o->limit) ? ", or none" : "");
}

static void print_option(FILE *f, const struct option_row *o)
{
	const char *argument = option_argument(o);
	char left[64], text[256];
	int n;

	n = snprintf(left, sizeof(left), "  %c%c%s --%s%s%s", o->letter ? '-' : ' ',
		     o->letter ? o->letter : ' ', o->letter ? "," : " ", option_name(o),
		     argument && argument[0] != '[' ? " " : "", argument ? argument : "");
	describe(o, text, sizeof(text));
	if (n > INDENT - 2)
		fprintf(f, "%s\n%*s", left, INDENT, "");
	else
		fprintf(f, "%-*s", INDENT, left);
	wrap(f, INDENT, text);
}

static bool shown(const struct option_row *o, const struct command *command)
{
	return (o->commands & command->bit) && !o->hidden;
}

static void print_group(FILE *f, bool color, const struct command *command, enum option_group group)
{
	const struct option_row *o;
	bool any = false;

	for (size_t i = 0; (o = option_at(i)) != NULL; i++) {
		if (!shown(o, command) || o->group != group)
			continue;
		if (!any)
			heading(f, color, group_titles[group]);
		any = true;
		print_option(f, o);
	}
}

/* ---- pages ---- */

static int finish(FILE *f)
{
	return f != NULL && fclose(f) == 0 ? 0 : STATUS_TROUBLE;
}

/* Standard I/O over a copy, so that closing tells whether all was written. */
static FILE *page(int fd)
{
	int copy = dup(fd);
	FILE *f = copy < 0 ? NULL : fdopen(copy, "w");

	if (f == NULL && copy >= 0)
		close(copy);
	return f;
}

int help_overview(int fd)
{
	bool color = cli_has_color(fd);
	const struct command *command;
	FILE *f = page(fd);

	if (f == NULL)
		return STATUS_TROUBLE;
	fputs("Runs code that you do not trust in an isolated place, and says what happened.\n\n"
	      "Usage: llm-sandbox COMMAND [OPTIONS] ...\n",
	      f);
	heading(f, color, "Commands");
	for (size_t i = 0; (command = command_at(i)) != NULL; i++) {
		if (command->hidden)
			continue;
		fprintf(f, "  %-16s ", command->name);
		wrap(f, 19, command->summary);
	}
	heading(f, color, "Examples");
	fputs("  llm-sandbox run -l python -c 'print(6 * 7)'\n"
	      "  llm-sandbox run --timeout 5s --memory 256M program.rb one two\n"
	      "  llm-sandbox exec -v .:/sandbox/project -- ls -l project\n\n"
	      "'llm-sandbox help COMMAND' explains a command and its options.\n",
	      f);
	return finish(f);
}

int help_family(int fd, const char *first)
{
	const struct command *command;
	FILE *f = page(fd);

	if (f == NULL)
		return STATUS_TROUBLE;
	for (size_t i = 0; (command = command_at(i)) != NULL; i++) {
		if (command_is_in(command, first))
			fprintf(f, "  llm-sandbox %s %s\n      %s\n", command->name,
				command->arguments, command->summary);
	}
	fprintf(f, "\n'llm-sandbox help %s COMMAND' explains one of them.\n", first);
	return finish(f);
}

int help_command(int fd, const struct command *command)
{
	bool color = cli_has_color(fd);
	FILE *f = page(fd);

	if (f == NULL)
		return STATUS_TROUBLE;
	fprintf(f, "%c%s.\n\nUsage: llm-sandbox %s %s\n", toupper(command->summary[0]),
		command->summary + 1, command->name, command->arguments);
	if (command->text[0] != '\0')
		fprintf(f, "\n%s", command->text);
	for (int group = 0; group < GROUP_COUNT; group++)
		print_group(f, color, command, (enum option_group)group);
	return finish(f);
}

int help_dump(int fd)
{
	const struct command *command;
	const struct option_row *o;
	FILE *f = page(fd);

	if (f == NULL)
		return STATUS_TROUBLE;
	for (size_t i = 0; (command = command_at(i)) != NULL; i++) {
		if (command->hidden)
			continue;
		fprintf(f, "%s\n", command->name);
		for (size_t j = 0; (o = option_at(j)) != NULL; j++) {
			if (!shown(o, command))
				continue;
			fprintf(f, "%s\t--%s\t%c%c\t%s\n", command->name, option_name(o),
				o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
				option_argument(o) ? option_argument(o) : "");
		}
	}
	return finish(f);
}
