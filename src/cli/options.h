/* SPDX-License-Identifier: MIT */
/*
 * The options as one table: what the command line, the environment and the configuration files
 * may say, and what help, man page and completion must tell.
 */
#pragma once

#include <llmsandbox/spec.h>

#include <stdbool.h>
#include <stddef.h>

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_LIST, OPTION_LIMIT };

enum option_id {
	OPT_LANGUAGE,
	OPT_CODE,
	OPT_TIMEOUT,
	OPT_CPU_TIME,
	OPT_CPUS,
	OPT_MEMORY,
	OPT_PROCESSES,
	OPT_DISK,
	OPT_OPEN_FILES,
	OPT_OUTPUT_HEAD,
	OPT_OUTPUT_TAIL,
	OPT_ENV,
	OPT_MOUNT,
	OPT_USER,
	OPT_WORKDIR,
	OPT_BACKEND,
	OPT_JSON,
	OPT_STREAM,
	OPT_RAW,
	OPT_DRY_RUN,
	OPT_CONFIG,
	OPT_HELP,
	OPT_COUNT
};

#define FOR_RUN	 1u
#define FOR_EXEC 2u
#define FOR_LIST 4u /* languages, doctor */
#define FOR_ALL	 7u

struct option_row {
	const char *name;
	char letter;	      /* or 0 */
	const char *argument; /* its name in help; NULL: a flag */
	enum option_kind kind;
	enum sbx_limit limit;
	unsigned int commands;
	bool configurable; /* also from the environment and configuration files */
	const char *help;
};

extern const struct option_row option_rows[OPT_COUNT];

#define LIST_MAX 1024

/* What was said, the later over the earlier; lists are joined. Strings are not owned. */
struct options {
	const char *value[OPT_COUNT]; /* NULL: not said; flags: "" */
	const char *origin[OPT_COUNT]; /* where: "--memory", "LLM_SANDBOX_MEMORY", a file */
	const char *env[LIST_MAX], *mounts[LIST_MAX];
	size_t env_count, mount_count;
};

/* Say option id; -1 (told on stderr) when a list is too long. */
int options_set(struct options *o, enum option_id id, const char *value, const char *origin);

/* The option of this name, or -1; *ret_near is the closest name there is, or NULL. */
int options_find(const char *name, const char **ret_near);

/* Take LLM_SANDBOX_… of our environment. */
int options_from_environment(struct options *o);

/*
 * Parse argv[1…] of a command. Stops at the first argument that is no option, or behind "--":
 * its index, or -1 (told on stderr). *ret_ended tells whether "--" was seen.
 */
int options_parse(struct options *o, unsigned int command, int argc, char **argv,
		  bool *ret_ended);
