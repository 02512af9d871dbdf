/* SPDX-License-Identifier: MIT */
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/listing.h"
#include "cli/trouble.h"

#include <llmsandbox/language.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether all that was found is of one image, which is then no news a line. */
static const char *find_common(const struct sbx_tool_chain *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].image == NULL || strcmp(list[i].image, list[0].image) != 0)
			return NULL;
	}
	return count > 0 ? list[0].image : NULL;
}

/* An engine may say anything. */
static void print_tame(const char *text)
{
	char *tame = listing_tame(text);

	fputs(tame ? tame : "?", stdout);
	free(tame);
}

static void print_line(const struct sbx_tool_chain *t, const char *common)
{
	printf("%-11s %-11s ", t->info->id, t->info->title);
	if (t->version != NULL)
		fputs(t->version, stdout);
	else if (t->image == NULL && t->code == SBX_E_NOT_FOUND)
		printf("not installed (on Debian: apt-get install %s)", t->info->package);
	else if (common != NULL && t->code == SBX_E_NOT_FOUND)
		fputs("not in the image", stdout);
	else
		print_tame(t->problem);
	if (t->version != NULL && t->image != NULL && common == NULL) {
		fputs("  in ", stdout);
		print_tame(t->image);
	}
	putchar('\n');
}

static json_t *to_json(const struct sbx_tool_chain *t)
{
	json_t *aliases = json_array(), *object;

	for (const char *const *alias = t->info->aliases; *alias != NULL; alias++)
		json_array_append_new(aliases, json_string(*alias));
	object = json_pack("{s:s, s:s, s:s?, s:o, s:s, s:s}", "id", t->info->id, "title",
			   t->info->title, "version", t->version, "aliases", aliases, "extension",
			   t->info->extension, "package", t->info->package);
	if (t->image != NULL)
		json_object_set_new(object, "image", json_string(t->image));
	if (t->problem != NULL)
		json_object_set_new(object, "problem", json_string(t->problem));
	return object;
}

static int print_json(const struct sbx_tool_chain *list, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, to_json(&list[i]));
	json_dumpf(array, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(array);
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}

static int print_lines(const struct sbx_tool_chain *list, size_t count)
{
	const char *common = find_common(list, count);

	for (size_t i = 0; i < count; i++)
		print_line(&list[i], common);
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}

static int print_all(const struct settings *s)
{
	struct sbx_tool_chain *list = NULL;
	struct sbx_error err;
	size_t count = 0;
	int status;

	if (sbx_spec_find_languages(s->spec, NULL, &list, &count, &err) < 0)
		return execute_fail(s, &err);
	status = s->json ? print_json(list, count) : print_lines(list, count);
	sbx_tool_chains_free(list, count);
	return status;
}

static int run(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;
	int status;

	if (command_settings(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	status = print_all(&settings);
	settings_done(&settings);
	return status;
}

const struct command cmd_languages = {
	.name = "languages",
	.bit = FOR_LANGUAGES,
	.arguments = "[OPTIONS]",
	.summary = "list the languages and the versions of their tool chains",
	.text = "One line per language: its name for -l, its title, and the version that a\n"
		"sandbox would find, or the package that brings it. With --image, --container or\n"
		"--dockerfile those of the image are asked, in a short sandbox of it; with an\n"
		"engine alone each language has an image of its own.\n",
	.run = run,
};
