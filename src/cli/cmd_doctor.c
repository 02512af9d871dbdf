/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "complain.h"

#include <llmsandbox/doctor.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const marks[] = {
	[SBX_HEALTH_OK] = "ok", [SBX_HEALTH_WEAK] = "weak", [SBX_HEALTH_BAD] = "bad"};
static const char *const colours[] = {
	[SBX_HEALTH_OK] = "32", [SBX_HEALTH_WEAK] = "33", [SBX_HEALTH_BAD] = "31"};

static void print_finding(const struct sbx_finding *f, bool colour)
{
	if (colour)
		printf("\033[%sm%-4s\033[0m  %-20s %s\n", colours[f->health], marks[f->health], f->name,
		       f->detail);
	else
		printf("%-4s  %-20s %s\n", marks[f->health], f->name, f->detail);
	if (f->advice[0] != '\0')
		printf("      %-20s -> %s\n", "", f->advice);
}

static void print_text(const struct sbx_finding *list, int count, bool usable)
{
	bool colour = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL;

	for (int i = 0; i < count; i++)
		print_finding(&list[i], colour);
	printf("\n%s\n", usable ? "Code can be run here." : "Code cannot be run here yet.");
}

static void print_json(const struct sbx_finding *list, int count, bool usable)
{
	json_t *findings = json_array();
	json_t *object;

	for (int i = 0; i < count; i++)
		json_array_append_new(findings,
				      json_pack("{s:s, s:s, s:s, s:s}", "name", list[i].name,
						"health", marks[list[i].health], "detail",
						list[i].detail, "advice", list[i].advice));
	object = json_pack("{s:b, s:o}", "usable", usable, "findings", findings);
	json_dumpf(object, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(object);
}

static int run(const struct command *self, int argc, char **argv)
{
	static struct options o;
	struct sbx_finding *list;
	struct sbx_error err;
	bool ended, usable;
	int count;

	if (options_parse(&o, self->options, argc, argv, &ended) < 0)
		return STATUS_USAGE;
	if (o.value[OPT_HELP] != NULL) {
		command_print_help(self);
		return STATUS_OK;
	}
	count = sbx_doctor(&list, &usable, &err);
	if (count < 0) {
		complain("%s", err.msg);
		return STATUS_FAILURE;
	}
	if (o.value[OPT_JSON] != NULL)
		print_json(list, count, usable);
	else
		print_text(list, count, usable);
	free(list);
	return usable ? STATUS_OK : STATUS_FAILURE;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.usage = "doctor [--json]",
	.summary = "Say what this machine offers a sandbox and what to do about what is missing.",
	.options = FOR_LIST,
	.run = run,
};
