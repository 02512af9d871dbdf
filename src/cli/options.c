/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "complain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT(limit) OPTION_LIMIT, limit, FOR_RUN | FOR_EXEC, true
#define TEXT(commands, configurable) OPTION_TEXT, SBX_LIMIT_COUNT, commands, configurable
#define FLAG(commands, configurable) OPTION_FLAG, SBX_LIMIT_COUNT, commands, configurable

const struct option_row option_rows[OPT_COUNT] = {
	[OPT_LANGUAGE] = {"language", 'l', "LANG", TEXT(FOR_RUN, true),
			  "language of the code; guessed from the file's name without it"},
	[OPT_CODE] = {"code", 'c', "CODE", TEXT(FOR_RUN, false), "the code itself"},
	[OPT_TIMEOUT] = {"timeout", 0, "TIME", LIMIT(SBX_LIMIT_WALL_MS),
			 "wall-clock time of one run"},
	[OPT_CPU_TIME] = {"cpu-time", 0, "TIME", LIMIT(SBX_LIMIT_CPU_MS),
			  "CPU time of each process, 0 for none"},
	[OPT_CPUS] = {"cpus", 0, "N", LIMIT(SBX_LIMIT_CPU_MILLI),
		      "CPUs that all processes share, as 1 or 0.5"},
	[OPT_MEMORY] = {"memory", 0, "SIZE", LIMIT(SBX_LIMIT_MEMORY_BYTES),
			"memory of all processes, without swap"},
	[OPT_PROCESSES] = {"processes", 0, "N", LIMIT(SBX_LIMIT_PROCESSES),
			   "processes and threads at one time"},
	[OPT_DISK] = {"disk", 0, "SIZE", LIMIT(SBX_LIMIT_DISK_BYTES),
		      "space for all files the sandbox writes"},
	[OPT_OPEN_FILES] = {"open-files", 0, "N", LIMIT(SBX_LIMIT_OPEN_FILES),
			    "open descriptors of one process"},
	[OPT_OUTPUT_HEAD] = {"output-head", 0, "SIZE", LIMIT(SBX_LIMIT_HEAD_BYTES),
			     "bytes kept from the start of each output stream"},
	[OPT_OUTPUT_TAIL] = {"output-tail", 0, "SIZE", LIMIT(SBX_LIMIT_TAIL_BYTES),
			     "bytes kept from the end of each output stream"},
	[OPT_ENV] = {"env", 'e', "NAME=VALUE", OPTION_LIST, SBX_LIMIT_COUNT, FOR_RUN | FOR_EXEC,
		     true, "set a variable; NAME alone passes ours on; may be repeated"},
	[OPT_MOUNT] = {"mount", 'v', "HOST:INSIDE[:rw]", OPTION_LIST, SBX_LIMIT_COUNT,
		       FOR_RUN | FOR_EXEC, true,
		       "show a file or folder, read-only unless :rw; may be repeated"},
	[OPT_USER] = {"user", 'u', "UID[:GID]", TEXT(FOR_RUN | FOR_EXEC, true),
		      "user and group inside (default 1000:1000)"},
	[OPT_WORKDIR] = {"workdir", 'w', "FOLDER", TEXT(FOR_RUN | FOR_EXEC, true),
			 "work folder inside (default /sandbox)"},
	[OPT_BACKEND] = {"backend", 0, "NAME", TEXT(FOR_RUN | FOR_EXEC, true),
			 "what makes the sandbox (default native)"},
	[OPT_JSON] = {"json", 0, NULL, FLAG(FOR_ALL, true), "print the result as one JSON object"},
	[OPT_STREAM] = {"stream", 0, NULL, FLAG(FOR_RUN | FOR_EXEC, true),
			"print output as it comes, all of it"},
	[OPT_RAW] = {"raw", 0, NULL, FLAG(FOR_RUN | FOR_EXEC, true),
		     "pass terminal escapes on to a terminal"},
	[OPT_DRY_RUN] = {"dry-run", 0, NULL, FLAG(FOR_RUN | FOR_EXEC, false),
			 "print what would be done and do nothing"},
	[OPT_CONFIG] = {"config", 0, "FILE", TEXT(FOR_RUN | FOR_EXEC, false),
			"read this configuration and not the usual files"},
	[OPT_HELP] = {"help", 'h', NULL, FLAG(FOR_ALL, false), "say what the command does"},
};

int options_set(struct options *o, enum option_id id, const char *value, const char *origin)
{
	const char **list = id == OPT_ENV ? o->env : o->mounts;
	size_t *count = id == OPT_ENV ? &o->env_count : &o->mount_count;

	if (option_rows[id].kind != OPTION_LIST) {
		o->value[id] = value;
		o->origin[id] = origin;
		return 0;
	}
	if (*count == LIST_MAX)
		return complain("%s: more than %d values", origin, LIST_MAX), -1;
	list[(*count)++] = value;
	return 0;
}

/* ---- names ---- */

/* Edit distance, for names short enough to be options. */
static size_t distance(const char *a, const char *b)
{
	size_t row[32], n = strlen(b);

	if (n >= 31 || strlen(a) >= 31)
		return 31;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1] != '\0'; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[n];
}

int options_find(const char *name, const char **ret_near)
{
	size_t best = 4;

	*ret_near = NULL;
	for (int i = 0; i < OPT_COUNT; i++) {
		size_t d = distance(name, option_rows[i].name);

		if (d == 0)
			return i;
		if (d < best) {
			best = d;
			*ret_near = option_rows[i].name;
		}
	}
	return -1;
}

/* ---- environment ---- */

static void variable_name(const char *option, char *ret, size_t size)
{
	int n = snprintf(ret, size, "LLM_SANDBOX_%s", option);

	for (int i = 12; i < n && i < (int)size - 1; i++) {
		if (ret[i] == '-')
			ret[i] = '_';
		else if (ret[i] >= 'a' && ret[i] <= 'z')
			ret[i] = (char)(ret[i] - 'a' + 'A');
	}
}

int options_from_environment(struct options *o)
{
	static char names[OPT_COUNT][40];

	for (int i = 0; i < OPT_COUNT; i++) {
		const char *value;

		if (!option_rows[i].configurable || option_rows[i].kind == OPTION_LIST)
			continue;
		variable_name(option_rows[i].name, names[i], sizeof(names[i]));
		value = getenv(names[i]);
		if (value != NULL && options_set(o, (enum option_id)i, value, names[i]) < 0)
			return -1;
	}
	return 0;
}

/* ---- command line ---- */

static int find_letter(char letter)
{
	for (int i = 0; i < OPT_COUNT; i++) {
		if (letter != 0 && option_rows[i].letter == letter)
			return i;
	}
	return -1;
}

/* The option that argv[*at] is, its value, and *at behind both; -1 when it is none. */
static int parse_one(unsigned int command, int argc, char **argv, int *at, const char **ret_value)
{
	const char *text = argv[*at], *near = NULL, *value = NULL;
	char name[64];
	int id;

	if (text[1] == '-') {
		size_t len = strcspn(text + 2, "=");

		snprintf(name, sizeof(name), "%.*s", (int)len, text + 2);
		id = options_find(name, &near);
		value = text[2 + len] == '=' ? text + 3 + len : NULL;
	} else {
		snprintf(name, sizeof(name), "%c", text[1]);
		id = find_letter(text[1]);
		value = text[2] != '\0' ? text + 2 : NULL;
	}
	if (id < 0 || !(option_rows[id].commands & command)) {
		complain("unknown option '%.64s'%s%s", text, near ? "; did you mean --" : "",
			 near ? near : "");
		return -1;
	}
	if (option_rows[id].argument == NULL && value != NULL)
		return complain("option '--%s' takes no value", option_rows[id].name), -1;
	*at += 1;
	if (option_rows[id].argument != NULL && value == NULL) {
		if (*at == argc)
			return complain("option '--%s' needs a value: %s", option_rows[id].name,
					option_rows[id].argument),
			       -1;
		value = argv[(*at)++];
	}
	*ret_value = value ? value : "";
	return id;
}

int options_parse(struct options *o, unsigned int command, int argc, char **argv,
		  bool *ret_ended)
{
	static char origins[OPT_COUNT][40];
	int at = 1;

	*ret_ended = false;
	while (at < argc && argv[at][0] == '-' && argv[at][1] != '\0') {
		const char *value;
		int id;

		if (strcmp(argv[at], "--") == 0) {
			*ret_ended = true;
			return at + 1;
		}
		id = parse_one(command, argc, argv, &at, &value);
		if (id < 0)
			return -1;
		snprintf(origins[id], sizeof(origins[id]), "--%s", option_rows[id].name);
		if (options_set(o, (enum option_id)id, value, origins[id]) < 0)
			return -1;
	}
	return at;
}
