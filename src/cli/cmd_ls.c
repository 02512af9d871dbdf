/* SPDX-License-Identifier: MIT */
#include "cli/away.h"
#include "cli/command.h"
#include "cli/execute.h"
#include "cli/listing.h"
#include "cli/trouble.h"

#include <string.h>

/* "NAME" is the work folder of the session. */
static int parse_place(const char *word, struct away *ret, struct sbx_error *err)
{
	if (!name_is_good(word))
		return away_parse(word, ret, err);
	strcpy(ret->name, word);
	ret->path = ".";
	return 0;
}

static int ask_files(const struct settings *s, const char *word, json_t **ret,
		     struct sbx_error *err)
{
	struct answer answer;
	struct away place;
	json_t *request;
	int r = parse_place(word, &place, err);

	if (r < 0)
		return r;
	request = client_request("list", place.name);
	json_object_set_new(request, "path", paper_text(place.path));
	json_object_set_new(request, "deep", json_boolean(s->deep));
	r = client_call(request, &answer, err);
	if (r < 0)
		return r;
	*ret = answer.data_fd >= 0 ? paper_read(answer.data_fd) : NULL;
	answer_done(&answer);
	return *ret ? 0 : cli_fail(err, SBX_E_PROTOCOL, "the holder of the sessions sent no list");
}

static void print_files(const struct settings *s, const json_t *files, struct output *o,
			json_t *ret_array)
{
	const json_t *row;
	size_t i;

	json_array_foreach (files, i, row) {
		struct sbx_file_info info;

		if (!listing_parse(row, &info))
			continue;
		if (s->json)
			json_array_append_new(ret_array, listing_json(&info));
		else
			listing_print(o, &info, s->longer);
		free(info.path);
	}
}

static int list_with(const struct settings *s, const char *word)
{
	json_t *object = NULL, *array = json_array();
	auto_free char *text = NULL;
	struct output output;
	struct sbx_error err;

	output_init(&output, s);
	if (ask_files(s, word, &object, &err) < 0) {
		json_decref(array);
		return execute_fail(s, &err);
	}
	print_files(s, json_object_get(object, "files"), &output, array);
	if (s->json) {
		/* In ASCII, names are harmless also on a terminal. */
		text = json_dumps(array, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		output_text(&output, text ? text : "");
		output_text(&output, "\n");
	}
	json_decref(object);
	json_decref(array);
	return output.failed ? execute_output_status(&output) : 0;
}

static int run(const struct invocation *inv)
{
	struct settings settings;
	struct sbx_error err;

	if (command_flags(inv, &settings, &err) < 0)
		return cli_usage(&err, inv->command->name);
	if (inv->rest[0] != NULL && inv->rest[1] == NULL)
		return list_with(&settings, inv->rest[0]);
	cli_fail(&err, SBX_E_INVALID, "which folder? Write NAME or NAME:PATH");
	return cli_usage(&err, inv->command->name);
}

const struct command cmd_ls = {
	.name = "ls",
	.bit = FOR_LS,
	.arguments = "NAME[:PATH] [OPTIONS]",
	.summary = "list files of a session",
	.mixes = true,
	.text = "Without PATH, what is in the work folder. Folders have a slash at their end.\n",
	.run = run,
};
