/* SPDX-License-Identifier: MIT */
#include "lang/lang.h"

#include "base/buf.h"
#include "base/strv.h"

#include <string.h>

/* One string of a command line; the kernel takes at most 128 KiB (MAX_ARG_STRLEN). */
#define ARGUMENT_MAX (128u << 10)


struct placeholder {
	const char *name; /* with its braces */
	const char *text; /* NULL: it is a number */
	unsigned long number;
};

static const struct placeholder *find_placeholder(const struct placeholder *list, const char *at)
{
	for (; list->name != NULL; list++) {
		if (strncmp(list->name, at, strlen(list->name)) == 0)
			return list;
	}
	return NULL;
}

/* A brace that starts no placeholder stands for itself. */
static char *expand_one(const char *template, const struct placeholder *list)
{
	auto_buf struct sbx_buf out = SBX_BUF_INIT(ARGUMENT_MAX);

	while (*template != '\0') {
		size_t plain = strcspn(template, "{");
		const struct placeholder *p;

		sbx_buf_append(&out, template, plain);
		template += plain;
		if (*template == '\0')
			break;
		p = find_placeholder(list, template);
		if (p == NULL)
			sbx_buf_append(&out, template++, 1);
		else if (p->text != NULL)
			sbx_buf_puts(&out, p->text);
		else
			sbx_buf_printf(&out, "%lu", p->number);
		template += p ? strlen(p->name) : 0;
	}
	return sbx_buf_take(&out);
}

static size_t length(const char *const *list)
{
	return sbx_strv_len((char *const *)list);
}

/* The list that stands for this word of a template, or NULL. */
static const char *const *find_list(const char *word, const struct sbx_lang_values *values)
{
	static const char *const nothing[] = {NULL};
	const char *const *list = NULL;

	if (strcmp(word, "{requirements}") == 0)
		list = values->requirements ? values->requirements : nothing;
	else if (strcmp(word, "{words}") == 0)
		list = values->words ? values->words : nothing;
	return list;
}

/* How many words the template becomes. */
static size_t count_words(const char *const *argv_template, const struct sbx_lang_values *values)
{
	size_t count = 0;

	for (size_t i = 0; argv_template[i] != NULL; i++) {
		const char *const *list = find_list(argv_template[i], values);

		count += list != NULL ? length(list) : 1;
	}
	return count;
}

static bool append(char **argv, size_t *count, const char *const *list)
{
	for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
		argv[*count] = strdup(list[i]);
		if (argv[(*count)++] == NULL)
			return false;
	}
	return true;
}

char **sbx_lang_expand(const char *const *argv_template, const struct sbx_lang_values *values,
		       const char *const *extra)
{
	const struct placeholder list[] = {
		{"{src}", values->src ? values->src : "", 0},
		{"{dir}", values->dir ? values->dir : "", 0},
		{"{build}", values->build ? values->build : "", 0},
		{"{main}", values->main ? values->main : "", 0},
		{"{set}", values->set ? values->set : "", 0},
		{"{home}", values->home ? values->home : "", 0},
		{"{support}", values->support ? values->support : "", 0},
		{"{final}", values->final ? values->final : "", 0},
		{"{memory_mb}", NULL, values->memory_mb},
		{"{cpus}", NULL, values->cpus},
		{"{proxy_host}", values->proxy_port ? "127.0.0.1" : "", 0},
		{"{proxy_port}", NULL, values->proxy_port},
		{NULL, NULL, 0},
	};
	size_t count = count_words(argv_template, values) + length(extra), n = 0;
	auto_strv char **argv = calloc(count + 1, sizeof(*argv));
	char **ret = argv;
	bool good = argv != NULL;

	for (size_t i = 0; good && argv_template[i] != NULL; i++) {
		const char *const *words = find_list(argv_template[i], values);

		if (words != NULL)
			good = append(argv, &n, words);
		else
			good = (argv[n++] = expand_one(argv_template[i], list)) != NULL;
	}
	if (!good || !append(argv, &n, extra))
		return NULL;
	argv = NULL;
	return ret;
}
