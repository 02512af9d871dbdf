/* SPDX-License-Identifier: MIT */
/* The code that `run` was asked to run: from --code, a file or stdin; its name and language. */
#pragma once

#include "cli/command.h"

#include <llmsandbox/language.h>

struct source {
	char *code; /* owned */
	size_t code_len;
	const struct sbx_language_info *language;
	const char *file_name; /* to call it inside, or NULL; belongs to argv */
	bool from_stdin;
	char **args; /* of the program, NULL-terminated; belongs to argv */
};

/* The caller frees ret->code. Reads nothing unless the language is known. */
int source_read(const struct invocation *inv, const struct settings *s, struct source *ret,
		struct sbx_error *err);

/* Into ret->language; SBX_E_INVALID lists the languages that there are. */
int source_choose_language(const char *name, struct source *ret, struct sbx_error *err);

/* "python, java, …" */
void source_list_languages(char *ret, size_t size);

/*
 * Make what lets a language start fast unless it is there, and say so when it takes long. Without
 * it the language is slower and nothing else, so a failure is no matter.
 */
void source_prepare(const struct sbx_language_info *language);
