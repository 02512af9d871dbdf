/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "complain.h"

#include <llmsandbox/language.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static void print_row(const struct sbx_language_info *info, const char *version,
		      const struct sbx_error *err)
{
	if (version != NULL)
		printf("%-12s %-12s %s\n", info->id, info->title, version);
	else if (err->code == SBX_E_NOT_FOUND)
		printf("%-12s %-12s not installed: apt-get install %s\n", info->id, info->title,
		       info->package);
	else
		printf("%-12s %-12s %s\n", info->id, info->title, err->msg);
}

static json_t *json_row(const struct sbx_language_info *info, const char *version)
{
	json_t *aliases = json_array();

	for (size_t i = 0; info->aliases[i] != NULL; i++)
		json_array_append_new(aliases, json_string(info->aliases[i]));
	return json_pack("{s:s, s:s, s:s?, s:s, s:s, s:o}", "id", info->id, "title", info->title,
			 "version", version, "extension", info->extension, "package",
			 info->package, "aliases", aliases);
}

static int run(const struct command *self, int argc, char **argv)
{
	static struct options o;
	const struct sbx_language_info *info;
	json_t *list = json_array();
	bool ended;

	if (options_parse(&o, self->options, argc, argv, &ended) < 0)
		return STATUS_USAGE;
	if (o.value[OPT_HELP] != NULL) {
		command_print_help(self);
		return STATUS_OK;
	}
	for (size_t i = 0; (info = sbx_language_at(i)) != NULL; i++) {
		struct sbx_error err;
		char *version = NULL;

		if (sbx_language_version(info->id, &version, &err) < 0)
			version = NULL;
		if (o.value[OPT_JSON] != NULL)
			json_array_append_new(list, json_row(info, version));
		else
			print_row(info, version, &err);
		free(version);
	}
	if (o.value[OPT_JSON] != NULL) {
		json_dumpf(list, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
		putchar('\n');
	}
	json_decref(list);
	return STATUS_OK;
}

const struct command cmd_languages = {
	.name = "languages",
	.usage = "languages [--json]",
	.summary = "List the languages and the versions that a sandbox of this machine has.",
	.options = FOR_LIST,
	.run = run,
};
