/* SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/trouble.h"

#include <llmsandbox/image.h>
#include <llmsandbox/language.h>

#include <jansson.h>
#include <stdio.h>

/* One language and its version, or why there is none. */
struct entry {
	const struct sbx_language_info *info;
	char *version; /* owned */
	struct sbx_error err;
};

static struct entry look_up(const struct sbx_language_info *info, const char *image)
{
	struct entry e = {.info = info};
	int r = image ? sbx_image_language_version(image, info->id, &e.version, &e.err)
		      : sbx_language_version(info->id, &e.version, &e.err);

	if (r < 0)
		e.version = NULL;
	return e;
}

static void print_line(const struct entry *e, const char *image)
{
	if (e->version != NULL)
		printf("%-11s %-11s %s\n", e->info->id, e->info->title, e->version);
	else if (e->err.code == SBX_E_NOT_FOUND && image != NULL)
		printf("%-11s %-11s not in the image\n", e->info->id, e->info->title);
	else if (e->err.code == SBX_E_NOT_FOUND)
		printf("%-11s %-11s not installed (on Debian: apt-get install %s)\n", e->info->id,
		       e->info->title, e->info->package);
	else
		printf("%-11s %-11s unknown: %s\n", e->info->id, e->info->title, e->err.msg);
}

static json_t *to_json(const struct entry *e)
{
	json_t *aliases = json_array(), *object;

	for (const char *const *alias = e->info->aliases; *alias != NULL; alias++)
		json_array_append_new(aliases, json_string(*alias));
	object = json_pack("{s:s, s:s, s:s?, s:o, s:s, s:s}", "id", e->info->id, "title",
			   e->info->title, "version", e->version, "aliases", aliases, "extension",
			   e->info->extension, "package", e->info->package);
	if (e->version == NULL)
		json_object_set_new(object, "problem", json_string(e->err.msg));
	return object;
}

static int print_all(bool json, const char *image)
{
	const struct sbx_language_info *info;
	json_t *list = json ? json_array() : NULL;

	for (size_t i = 0; (info = sbx_language_at(i)) != NULL; i++) {
		struct entry e = look_up(info, image);

		if (json)
			json_array_append_new(list, to_json(&e));
		else
			print_line(&e, image);
		free(e.version);
	}
	if (json) {
		json_dumpf(list, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(list);
	}
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}

static int run(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;
	int status;

	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	if (settings.image != NULL && sbx_image_check(settings.image, &err) < 0)
		status = execute_fail(&settings, &err);
	else
		status = print_all(settings.json, settings.image);
	settings_done(&settings);
	return status;
}

const struct command cmd_languages = {
	.name = "languages",
	.bit = FOR_LANGUAGES,
	.arguments = "[OPTIONS]",
	.summary = "list the languages and the versions of their tool chains",
	.text = "One line per language: its name for -l, its title, and the version that a\n"
		"sandbox of this machine or of an image has, or the package that brings it.\n",
	.run = run,
};
