/* SPDX-License-Identifier: MIT */
/* `lib add`, `lib list`, `lib remove`, `lib lock`, `lib verify`. */
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/kept.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/source.h"
#include "cli/trouble.h"
#include "cli/value.h"

#include <llmsandbox/language.h>
#include <llmsandbox/library.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* ---- showing a set ---- */

static json_t *to_json(const struct sbx_library_set *set)
{
	json_t *requirements = json_array(), *packages = json_array();

	for (size_t i = 0; set->requirements[i] != NULL; i++)
		json_array_append_new(requirements, json_string(set->requirements[i]));
	for (size_t i = 0; i < set->package_count; i++) {
		const struct sbx_package *p = &set->packages[i];

		json_array_append_new(packages, json_pack("{s:s, s:s, s:s}", "name", p->name, "version",
							  p->version, "hash", p->hash));
	}
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I}", "id", set->id, "language",
			 set->language, "tool_chain", set->tool_chain, "image", set->image, "backend",
			 set->backend, "engine", set->engine, "requirements", requirements, "packages", packages, "bytes", (json_int_t)set->bytes, "made",
			 (json_int_t)set->made, "used", (json_int_t)set->used);
}

static void print_heading(void)
{
	printf("%-16s %-10s %-10s %8s  %-10s %-19s %s\n", "ID", "LANGUAGE", "VERSION", "SIZE", "USED",
	       "IMAGE", "LIBRARIES");
}

/* An engine's are known by the first digits of their id. */
static void print_image(const struct sbx_library_set *set)
{
	const char *digits = strncmp(set->image, "sha256:", 7) == 0 ? set->image + 7 : NULL;
	char text[32];

	if (digits != NULL)
		snprintf(text, sizeof(text), "%.6s:%.12s", set->backend[0] ? set->backend : "image", digits);
	printf(" %-19s", digits ? text : set->image[0] ? set->image : "-");
}

static void print_line(const struct sbx_library_set *set)
{
	char day[KEPT_DAY_MAX];

	printf("%-16s %-10s %-10s", set->id, set->language, set->tool_chain);
	kept_print_size(set->bytes);
	printf(" %-10s", kept_day((uint64_t)set->used, day));
	print_image(set);
	for (size_t i = 0; set->requirements[i] != NULL; i++)
		printf(" %s", set->requirements[i]);
	putchar('\n');
}

/* ---- add ---- */

static int add_under_signals(const struct settings *s, char **names, struct sbx_library_set **ret,
			     int *ret_killed_by, struct sbx_error *err)
{
	struct sbx_install how = {
		.language = s->language,
		.requirements = (const char *const *)names,
		.offline = s->offline,
		.spec = s->spec,
		.on_progress = progress_is_wanted() ? progress_print : NULL,
	};
	struct reach reach;
	int r = sbx_cancel_new(&how.cancel, err);

	if (r < 0)
		return r;
	reach = reach_cancel(how.cancel);
	signals_connect(&reach);
	r = sbx_library_add(&how, ret, err);
	*ret_killed_by = signals_disconnect();
	sbx_cancel_free(how.cancel);
	return r;
}

static int add_set(const struct settings *s, char **names)
{
	struct sbx_library_set *set = NULL;
	struct sbx_error err;
	int killed_by = 0;

	if (add_under_signals(s, names, &set, &killed_by, &err) < 0)
		return killed_by ? STATUS_SIGNAL + killed_by : execute_fail(s, &err);
	if (s->json) {
		kept_print_json(to_json(set));
	} else {
		print_heading();
		print_line(set);
	}
	sbx_library_set_free(set);
	return kept_finish();
}

static int check_language(const struct settings *s, struct sbx_error *err)
{
	char list[160];

	if (s->language != NULL && sbx_language_find(s->language) != NULL)
		return 0;
	source_list_languages(list, sizeof(list));
	if (s->language == NULL)
		return cli_fail(err, SBX_E_INVALID, "which language? Give it with -l: %s", list);
	return cli_fail(err, SBX_E_INVALID, "there is no language '%.64s' (languages: %s)", s->language,
			list);
}

static int add(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;
	int status;

	if (command_settings(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	if (check_language(&settings, &err) < 0)
		status = cli_usage(&err, inv->command->name);
	else
		status = add_set(&settings, inv->rest);
	settings_done(&settings);
	return status;
}

const struct command cmd_lib_add = {
	.name = "lib add",
	.bit = FOR_LIB_ADD,
	.arguments = "-l LANGUAGE NAME ... [OPTIONS]",
	.summary = "install libraries, for runs that name them with --lib",
	.mixes = true,
	.text = "Installs the libraries together, in a sandbox that reaches the hosts of the\n"
		"language's package manager and nothing else, as a set that all later sandboxes\n"
		"share. With --image, or a backend of containers, it is a set of that image.\n"
		"Names are written as the package manager writes them: requests>=2,\n"
		"lodash@4, github.com/google/uuid@v1.6.0, org.slf4j:slf4j-api:2.0.9, rack:2.2.4,\n"
		"jsonlite, libfmt-dev.\n",
	.run = add,
};

/* ---- list ---- */

static int print_sets(const struct settings *s)
{
	json_t *list = s->json ? json_array() : NULL;
	struct sbx_library_set **sets = NULL;
	struct sbx_error err;
	size_t count = 0;

	if (sbx_library_list(&sets, &count, &err) < 0)
		return execute_fail(s, &err);
	if (!s->json && count > 0)
		print_heading();
	for (size_t i = 0; i < count; i++) {
		if (s->json)
			json_array_append_new(list, to_json(sets[i]));
		else
			print_line(sets[i]);
		sbx_library_set_free(sets[i]);
	}
	free(sets);
	if (s->json)
		kept_print_json(list);
	return kept_finish();
}

static int list(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;

	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	return print_sets(&settings);
}

const struct command cmd_lib_list = {
	.name = "lib list",
	.bit = FOR_LIB_LIST,
	.arguments = "[OPTIONS]",
	.summary = "list the sets of libraries that are installed",
	.mixes = true,
	.text = "The last used first. The ID is what the other commands take.\n",
	.run = list,
};

/* ---- what takes IDs ---- */

typedef int id_fn(const char *id, struct sbx_error *err);

static int each_id(const struct invocation *inv, id_fn *act)
{
	struct settings settings = {0};
	struct sbx_error err;
	int status = 0;

	if (inv->rest[0] == NULL) {
		cli_fail(&err, SBX_E_INVALID, "which set? Give its ID; 'lib list' has them");
		return cli_usage(&err, inv->command->name);
	}
	for (char **id = inv->rest; *id != NULL; id++) {
		if (act(*id, &err) < 0)
			status = execute_fail(&settings, &err);
	}
	return status ? status : kept_finish();
}

static int remove_sets(const struct invocation *inv)
{
	return each_id(inv, sbx_library_remove);
}

const struct command cmd_lib_remove = {
	.name = "lib remove",
	.bit = FOR_LIB_ID,
	.arguments = "ID ...",
	.summary = "remove sets of libraries",
	.mixes = true,
	.text = "Sandboxes that use one lose it.\n",
	.run = remove_sets,
};

static int print_lock(const char *id, struct sbx_error *err)
{
	char *text = NULL;
	int r = sbx_library_lock(id, &text, err);

	if (r == 0)
		fputs(text, stdout);
	free(text);
	return r;
}

static int lock_sets(const struct invocation *inv)
{
	return each_id(inv, print_lock);
}

const struct command cmd_lib_lock = {
	.name = "lib lock",
	.bit = FOR_LIB_ID,
	.arguments = "ID ...",
	.summary = "print what was really installed for a set",
	.mixes = true,
	.text = "One line per package: its name, its version and its hash.\n",
	.run = lock_sets,
};

static int verify_set(const char *id, struct sbx_error *err)
{
	int r = sbx_library_verify(id, err);

	if (r == 0)
		printf("%s is as it was made\n", id);
	return r;
}

static int verify_all(void)
{
	struct settings settings = {0};
	struct sbx_library_set **sets = NULL;
	struct sbx_error err;
	size_t count = 0;
	int status = 0;

	if (sbx_library_list(&sets, &count, &err) < 0)
		return execute_fail(&settings, &err);
	for (size_t i = 0; i < count; i++) {
		if (verify_set(sets[i]->id, &err) < 0)
			status = execute_fail(&settings, &err);
		sbx_library_set_free(sets[i]);
	}
	free(sets);
	return status ? status : kept_finish();
}

static int verify_sets(const struct invocation *inv)
{
	return inv->rest[0] != NULL ? each_id(inv, verify_set) : verify_all();
}

const struct command cmd_lib_verify = {
	.name = "lib verify",
	.bit = FOR_LIB_ID,
	.arguments = "[ID ...]",
	.summary = "compare sets of libraries with what was installed",
	.mixes = true,
	.text = "Without an ID, all of them. The exit status is 125 when a file differs.\n",
	.run = verify_sets,
};
