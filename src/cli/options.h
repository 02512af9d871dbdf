/* SPDX-License-Identifier: MIT */
/*
 * Every option of every command, once: this table is what the flags, the configuration file,
 * the environment, help and the completion are made from, and what the tests compare the man
 * page with. Names, ranges and defaults of limits come from the library's own table.
 */
#pragma once

#include "cli/settings.h"

enum option_kind {
	OPTION_FLAG,  /* a bool of struct settings */
	OPTION_TEXT,  /* a string of struct settings */
	OPTION_LIMIT, /* a limit of the spec */
	OPTION_VALUE, /* has a function */
	OPTION_LIST,  /* the same; may be given many times */
};

enum option_group {
	GROUP_CODE,
	GROUP_LIBRARIES,
	GROUP_SESSION,
	GROUP_LIMITS,
	GROUP_SANDBOX,
	GROUP_NETWORK,
	GROUP_SERVER,
	GROUP_OUTPUT,
	GROUP_COUNT
};

/* One bit per command. */
enum {
	FOR_RUN = 1,
	FOR_EXEC = 2,
	FOR_LANGUAGES = 4,
	FOR_DOCTOR = 8,
	FOR_VERSION = 16,
	FOR_HELP = 32,
	FOR_MCP = 64,
	FOR_START = 128,
	FOR_LIST = 256,
	FOR_STOP = 512,
	FOR_CP = 1024,
	FOR_LS = 2048,
	FOR_CAT = 4096,
	FOR_HOLDER = 8192,
	FOR_LOGS = 16384,
	FOR_KILL = 32768,
	FOR_LIB_ADD = 65536,
	FOR_LIB_LIST = 131072,
	FOR_LIB_ID = 262144, /* lib remove, lock and verify */
	FOR_REPL = 524288,
	FOR_KERNEL = 1048576, /* kernel interrupt, restart, reset and end */
	FOR_KERNEL_LIST = 2097152,
	FOR_IMAGE_BUILD = 4194304,
	FOR_IMAGE_IMPORT = 8388608,
	FOR_IMAGE_LIST = 16777216,
	FOR_IMAGE_REMOVE = 33554432,
	FOR_IMAGES = FOR_IMAGE_BUILD | FOR_IMAGE_IMPORT | FOR_IMAGE_LIST | FOR_IMAGE_REMOVE,
	FOR_RUNS = FOR_RUN | FOR_EXEC,
	FOR_SANDBOXES = FOR_RUNS | FOR_START | FOR_REPL,
	FOR_TOOLS = FOR_SANDBOXES | FOR_LANGUAGES | FOR_LIB_ADD, /* that need an image's tool chain */
	FOR_ALL = 67108863,
};

typedef int option_set_fn(struct settings *s, const char *value, const char *where,
			  struct sbx_error *err);

struct option_row {
	enum option_kind kind;
	enum option_group group;
	unsigned int commands;
	char letter;	      /* of the short form, or 0 */
	bool flag_only;	      /* not in configuration files and the environment */
	bool hidden;	      /* not in help */
	bool per_run;	      /* of a sandbox, but each run in a session may have its own */
	enum sbx_limit limit; /* OPTION_LIMIT */
	size_t offset;	      /* in struct settings: OPTION_FLAG, OPTION_TEXT */
	option_set_fn *set;   /* OPTION_VALUE, OPTION_LIST */
	const char *name, *argument, *help, *list_key; /* list_key: in files, "mounts" */
};

/* The n-th option, or NULL past the last. */
const struct option_row *option_at(size_t n);

/* By the name in flags, or by the key in files; NULL when there is none. */
const struct option_row *option_find(const char *name);
const struct option_row *option_find_key(const char *key);

const char *option_name(const struct option_row *o);
const char *option_key(const struct option_row *o);
const char *option_help(const struct option_row *o);

/* What stands behind the name, "SIZE"; NULL for flags. */
const char *option_argument(const struct option_row *o);

/* Set it; value is NULL for a flag on the command line. where begins the error's sentence. */
int option_set(const struct option_row *o, struct settings *s, const char *value,
	       const char *where, struct sbx_error *err);
