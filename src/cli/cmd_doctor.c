/* SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "cli/trouble.h"

#include <llmsandbox/doctor.h>

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

struct mark {
	const char *word;  /* in text and JSON */
	const char *color; /* SGR */
};

static const struct mark marks[] = {
	[SBX_HEALTH_OK] = {"ok", "32"},
	[SBX_HEALTH_WEAK] = {"weak", "33"},
	[SBX_HEALTH_BAD] = {"bad", "31"},
};

static void print_finding(const struct sbx_finding *f, bool color)
{
	const struct mark *mark = &marks[f->health];

	if (color)
		printf("\033[%sm%-4s\033[0m  ", mark->color, mark->word);
	else
		printf("%-4s  ", mark->word);
	printf("%-22s %s\n", f->name, f->detail);
	if (f->advice[0] != '\0')
		printf("      -> %s\n", f->advice);
}

static void print_text(const struct sbx_finding *findings, size_t count, bool usable)
{
	bool color = cli_has_color(STDOUT_FILENO);

	for (size_t i = 0; i < count; i++)
		print_finding(&findings[i], color);
	puts(usable ? "\nCode runs in sandboxes on this machine."
		    : "\nCode cannot run in sandboxes on this machine.");
}

static void print_json(const struct sbx_finding *findings, size_t count, bool usable)
{
	json_t *list = json_array(), *object;

	for (size_t i = 0; i < count; i++) {
		const struct sbx_finding *f = &findings[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "name", f->name,
						      "health", marks[f->health].word, "detail",
						      f->detail, "advice", f->advice));
	}
	object = json_pack("{s:b, s:o}", "usable", usable, "findings", list);
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(object);
}

static int run(const struct invocation *inv)
{
	struct sbx_finding *findings = NULL;
	struct settings settings;
	struct sbx_error err;
	bool usable = false;
	int count;

	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	count = sbx_doctor(&findings, &usable, &err);
	if (count < 0) {
		cli_say("%s", err.msg);
		return STATUS_TROUBLE;
	}
	if (settings.json)
		print_json(findings, (size_t)count, usable);
	else
		print_text(findings, (size_t)count, usable);
	free(findings);
	return fflush(stdout) == 0 && usable ? 0 : STATUS_TROUBLE;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.bit = FOR_DOCTOR,
	.arguments = "[OPTIONS]",
	.summary = "say what this machine offers, and what to do about what is missing",
	.text = "Makes and runs sandboxes to be sure. The exit status is 0 when code can run in\n"
		"sandboxes on this machine, and 125 when it cannot.\n",
	.run = run,
};
