/* SPDX-License-Identifier: MIT */
/* `kernel list` and what is done to a kernel of a named session from outside of its cells. */
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/listing.h"
#include "cli/site.h"
#include "cli/trouble.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- list ---- */

static json_t *kernel_json(const struct sbx_kernel_info *k)
{
	return json_pack("{s:s, s:s, s:s, s:b, s:b, s:I, s:I}", "name", k->name, "language",
			 k->language, "version", k->version, "alive", k->alive, "busy", k->busy,
			 "cells", (json_int_t)k->cells, "starts", (json_int_t)k->starts);
}

static void print_json(struct output *o, const struct sbx_kernel_info *list, size_t count)
{
	json_t *array = json_array(), *object = json_pack("{s:o}", "kernels", array);
	auto_free char *text = NULL;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, kernel_json(&list[i]));
	text = object ? json_dumps(object, JSON_INDENT(2)) : NULL;
	json_decref(object);
	output_text(o, text ? text : "{}");
	output_text(o, "\n");
}

static void print_kernel(struct output *o, const struct sbx_kernel_info *k)
{
	auto_free char *version = listing_tame(k->version);
	char line[256];

	snprintf(line, sizeof(line), "%-16s  %-10s  %-12s  %-5s  %5u  %6u\n", k->name, k->language,
		 version && version[0] ? version : "-",
		 k->busy    ? "busy"
		 : k->alive ? "idle"
			    : "ended",
		 k->cells, k->starts);
	output_text(o, line);
}

static void print_table(struct output *o, const struct sbx_kernel_info *list, size_t count)
{
	if (count > 0)
		output_text(o,
			    "NAME              LANGUAGE    VERSION       STATE  CELLS  STARTS\n");
	for (size_t i = 0; i < count; i++)
		print_kernel(o, &list[i]);
}

static int list_kernels(const struct settings *s)
{
	struct site site = {.name = s->session};
	auto_free struct sbx_kernel_info *list = NULL;
	struct output output;
	struct sbx_error err;
	size_t count = 0;

	if (site_kernels(&site, &list, &count, &err) < 0)
		return execute_fail(s, &err);
	output_init(&output, s);
	if (s->json)
		print_json(&output, list, count);
	else
		print_table(&output, list, count);
	return output.failed ? execute_output_status(&output) : 0;
}

/* ---- acts ---- */

static int act(const struct settings *s, enum site_act what, const char *kernel)
{
	struct site site = {.name = s->session};
	struct sbx_error err;

	if (site_kernel(&site, what, kernel, NULL, &err) < 0)
		return execute_fail(s, &err);
	return 0;
}

/* ---- the commands ---- */

static int check(const struct invocation *inv, const struct settings *s, size_t words,
		 struct sbx_error *err)
{
	size_t n = 0;

	while (inv->rest[n] != NULL)
		n++;
	if (s->session == NULL)
		return cli_fail(err, SBX_E_INVALID, "of which session? Write --session NAME");
	if (n < words)
		return cli_fail(err, SBX_E_INVALID,
				"which kernel? 'llm-sandbox kernel list "
				"--session %s' lists them",
				s->session);
	if (n > words)
		return cli_fail(err, SBX_E_INVALID, "'%.64s' is one word too many",
				inv->rest[words]);
	return 0;
}

static int with_settings(const struct invocation *inv, size_t words, enum site_act what)
{
	struct settings settings;
	struct sbx_error err;
	int status;

	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	if (check(inv, &settings, words, &err) < 0)
		status = cli_usage(&err, inv->command->name);
	else
		status = words == 0 ? list_kernels(&settings) : act(&settings, what, inv->rest[0]);
	settings_done(&settings);
	return status;
}

static int run_list(const struct invocation *inv)
{
	return with_settings(inv, 0, SITE_ACT_COUNT);
}

static int run_interrupt(const struct invocation *inv)
{
	return with_settings(inv, 1, SITE_INTERRUPT);
}

static int run_restart(const struct invocation *inv)
{
	return with_settings(inv, 1, SITE_RESTART);
}

static int run_reset(const struct invocation *inv)
{
	return with_settings(inv, 1, SITE_RESET);
}

static int run_end(const struct invocation *inv)
{
	return with_settings(inv, 1, SITE_END);
}

const struct command cmd_kernel_list = {
	.name = "kernel list",
	.bit = FOR_KERNEL_LIST,
	.arguments = "--session NAME [--json]",
	.summary = "list the live kernels of a session",
	.mixes = true,
	.text = "A kernel is started by its first cell: 'run --session NAME --kernel KERNEL'.\n",
	.run = run_list,
};

const struct command cmd_kernel_interrupt = {
	.name = "kernel interrupt",
	.bit = FOR_KERNEL,
	.arguments = "--session NAME KERNEL",
	.summary = "end the cell that runs, as Ctrl-C would",
	.mixes = true,
	.text = "Variables, imports and functions stay.\n",
	.run = run_interrupt,
};

const struct command cmd_kernel_restart = {
	.name = "kernel restart",
	.bit = FOR_KERNEL,
	.arguments = "--session NAME KERNEL",
	.summary = "end a kernel's process, and start another",
	.mixes = true,
	.text = "A cell that runs is ended with it.\n",
	.run = run_restart,
};

const struct command cmd_kernel_reset = {
	.name = "kernel reset",
	.bit = FOR_KERNEL,
	.arguments = "--session NAME KERNEL",
	.summary = "forget a kernel's variables, imports and functions",
	.mixes = true,
	.text = "",
	.run = run_reset,
};

const struct command cmd_kernel_end = {
	.name = "kernel end",
	.bit = FOR_KERNEL,
	.arguments = "--session NAME KERNEL",
	.summary = "end a kernel, and forget it with its history",
	.mixes = true,
	.text = "",
	.run = run_end,
};
