/* SPDX-License-Identifier: MIT */
/* `image build`, `image import`, `image list`, `image remove`. */
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/kept.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/trouble.h"

#include <llmsandbox/image.h>

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ---- showing one ---- */

static json_t *to_json(const struct sbx_image *image)
{
	json_t *tools = json_object();

	for (size_t i = 0; i < image->tool_count; i++)
		json_object_set_new(tools, image->tools[i].language, json_string(image->tools[i].version));
	return json_pack("{s:s, s:s, s:s, s:s*, s:I, s:I, s:o}", "name", image->name, "backend",
			 image->where, "source", image->source, "path", image->path, "bytes",
			 (json_int_t)image->bytes, "made", (json_int_t)image->made, "tools", tools);
}

static void print_heading(void)
{
	printf("%-28s %-8s %7s  %-10s %s\n", "NAME", "BACKEND", "SIZE", "MADE", "TOOLS");
}

static void print_line(const struct sbx_image *image)
{
	char day[KEPT_DAY_MAX];

	printf("%-28s %-8s", image->name, image->where);
	kept_print_size(image->bytes);
	printf("%-10s", kept_day((uint64_t)image->made, day));
	for (size_t i = 0; i < image->tool_count; i++)
		printf(" %s-%s", image->tools[i].language, image->tools[i].version);
	putchar('\n');
}

/* ---- making ---- */

static void print_progress(const char *line, void *userdata)
{
	(void)userdata;
	progress_print(line, strlen(line), NULL);
	progress_print("\n", 1, NULL);
}

struct making {
	const char *language; /* or NULL: it is an import … */
	const char *from;     /* … of this */
	struct sbx_image_make how;
	struct sbx_image *image;
	struct sbx_image_report report;
	volatile sig_atomic_t interrupted;
};

static void end_it(void *userdata)
{
	sbx_cancel_kill(((struct making *)userdata)->how.cancel);
}

/* There is nothing in it that an interrupt could be for. */
static void interrupt_it(void *userdata)
{
	((struct making *)userdata)->interrupted = 1;
	end_it(userdata);
}

static int make_under_signals(struct making *m, int *ret_killed_by, struct sbx_error *err)
{
	const struct reach reach = {.interrupt = interrupt_it, .kill = end_it, .userdata = m};
	int r = sbx_cancel_new(&m->how.cancel, err);

	if (r < 0)
		return r;
	signals_connect(&reach);
	if (m->language != NULL)
		r = sbx_image_build(m->language, &m->how, &m->image, err);
	else
		r = sbx_image_import(m->from, &m->how, &m->image, &m->report, err);
	*ret_killed_by = signals_disconnect();
	if (*ret_killed_by == 0 && m->interrupted)
		*ret_killed_by = SIGINT;
	sbx_cancel_free(m->how.cancel);
	return r;
}

static void note_left_out(const struct sbx_image_report *report)
{
	char *name;

	if (report->left_out == 0)
		return;
	name = listing_tame(report->first_left_out);
	fprintf(stderr,
		"llm-sandbox: %llu entries were left out (devices, or what leads out of the image), one of "
		"them '%s'\n",
		(unsigned long long)report->left_out, name ? name : "?");
	free(name);
}

/* Adds to the list, or prints a line. */
static int make(const struct settings *s, struct making *m, json_t *list, bool *headed)
{
	struct sbx_error err;
	int killed_by = 0;

	m->how.backend = s->image_backend;
	m->how.on_progress = progress_is_wanted() ? print_progress : NULL;
	if (make_under_signals(m, &killed_by, &err) < 0)
		return killed_by ? STATUS_SIGNAL + killed_by : execute_fail(s, &err);
	if (list == NULL && !*headed)
		print_heading();
	*headed = true;
	note_left_out(&m->report);
	if (list != NULL)
		json_array_append_new(list, to_json(m->image));
	else
		print_line(m->image);
	sbx_image_free(m->image);
	return kept_finish();
}

static int build_all(const struct settings *s, char **languages)
{
	json_t *list = s->json ? json_array() : NULL;
	bool headed = false;
	int status = 0;

	for (; *languages != NULL && status == 0; languages++)
		status = make(s, &(struct making){.language = *languages}, list, &headed);
	if (list != NULL && status == 0)
		kept_print_json(list);
	else
		json_decref(list);
	return status ? status : kept_finish();
}

static int usage(const struct invocation *inv, const char *sentence)
{
	struct sbx_error err;

	cli_fail(&err, SBX_E_INVALID, "%s", sentence);
	return cli_usage(&err, inv->command->name);
}

static int build(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;
	int status;

	if (inv->rest[0] == NULL)
		return usage(inv, "an image for which language? 'llm-sandbox languages' lists them");
	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	status = build_all(&settings, inv->rest);
	settings_done(&settings);
	return status;
}

const struct command cmd_image_build = {
	.name = "image build",
	.bit = FOR_IMAGE_BUILD,
	.arguments = "LANGUAGE ... [OPTIONS]",
	.summary = "make an image for a language from Debian packages",
	.mixes = true,
	.text = "Makes a root file system with the tool chain of the language and little else,\n"
		"by mmdebstrap(1), as root or as a user with subordinate ids, from where this\n"
		"machine's apt gets its packages. It is called as the language; one of that name\n"
		"is replaced. Then: llm-sandbox run --image python program.py\n",
	.run = build,
};

static int import_image(const struct invocation *inv)
{
	struct making m = {.how = {.name = inv->rest[0]}};
	struct settings settings;
	bool headed = false;
	struct sbx_error err;
	json_t *list;
	int status;

	if (inv->rest[0] == NULL || inv->rest[1] == NULL || inv->rest[2] != NULL)
		return usage(inv, "give the name of the image, and the archive, folder or BACKEND:IMAGE that it is made of");
	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	m.from = inv->rest[1];
	list = settings.json ? json_array() : NULL;
	status = make(&settings, &m, list, &headed);
	if (list != NULL && status == 0)
		kept_print_json(json_incref(json_array_get(list, 0)));
	json_decref(list);
	settings_done(&settings);
	return status;
}

const struct command cmd_image_import = {
	.name = "image import",
	.bit = FOR_IMAGE_IMPORT,
	.arguments = "NAME TAR|FOLDER|BACKEND:IMAGE [OPTIONS]",
	.summary = "make an image of an archive, a folder, or an engine's image",
	.mixes = true,
	.text = "TAR is a root file system as 'docker export' or mmdebstrap(1) writes it, which\n"
		"may be compressed; BACKEND:IMAGE is one that an engine has, such as\n"
		"docker:python:3-slim or podman:IMAGE, or one of ours, native:NAME. It need not\n"
		"be trusted: devices, owners, set-user-id bits and what leads out of it are not\n"
		"brought in. With --backend an engine gets it, as llm-sandbox/NAME; else the\n"
		"native backend.\n",
	.run = import_image,
};

/* ---- list and remove ---- */

static int print_images(const struct settings *s)
{
	json_t *list = s->json ? json_array() : NULL;
	struct sbx_image **images = NULL;
	struct sbx_error err;
	size_t count = 0;

	if (sbx_image_list(s->image_backend, &images, &count, &err) < 0) {
		json_decref(list);
		return execute_fail(s, &err);
	}
	if (!s->json && count > 0)
		print_heading();
	for (size_t i = 0; i < count; i++) {
		if (s->json)
			json_array_append_new(list, to_json(images[i]));
		else
			print_line(images[i]);
		sbx_image_free(images[i]);
	}
	free(images);
	if (s->json)
		kept_print_json(list);
	return kept_finish();
}

static int list_images(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;
	int status;

	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	status = print_images(&settings);
	settings_done(&settings);
	return status;
}

const struct command cmd_image_list = {
	.name = "image list",
	.bit = FOR_IMAGE_LIST,
	.arguments = "[OPTIONS]",
	.summary = "list the images that were made",
	.mixes = true,
	.text = "One line per image: its name for --image, the backend that has it, its size, the\n"
		"day it was made, and the tool chains in it as far as they are known.\n",
	.run = list_images,
};

static int remove_images(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;
	int status = 0;

	if (inv->rest[0] == NULL)
		return usage(inv, "which image? Give its name; 'image list' has them");
	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	for (char **name = inv->rest; *name != NULL; name++) {
		if (sbx_image_remove(*name, settings.image_backend, &err) < 0)
			status = execute_fail(&settings, &err);
	}
	settings_done(&settings);
	return status ? status : kept_finish();
}

const struct command cmd_image_remove = {
	.name = "image remove",
	.bit = FOR_IMAGE_REMOVE,
	.arguments = "NAME ... [OPTIONS]",
	.summary = "remove images",
	.mixes = true,
	.text = "One that a sandbox uses is not removed.\n",
	.run = remove_images,
};
