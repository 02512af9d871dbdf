/* SPDX-License-Identifier: MIT */
#include "lang/rows.h"

#include <string.h>
#include <strings.h>

static const struct sbx_lang *const languages[] = {
	&sbx_lang_python, &sbx_lang_java, &sbx_lang_javascript, &sbx_lang_cpp,
	&sbx_lang_go,	  &sbx_lang_ruby, &sbx_lang_r,
};

static bool has_name(const char *const *list, const char *name)
{
	for (; *list != NULL; list++) {
		if (strcasecmp(*list, name) == 0)
			return true;
	}
	return false;
}

const struct sbx_lang *sbx_lang_at(size_t n)
{
	return n < sizeof(languages) / sizeof(languages[0]) ? languages[n] : NULL;
}

const struct sbx_lang *sbx_lang_find(const char *name)
{
	const struct sbx_lang *lang;

	for (size_t i = 0; (lang = sbx_lang_at(i)) != NULL; i++) {
		if (strcasecmp(lang->info.id, name) == 0 || has_name(lang->info.aliases, name))
			return lang;
	}
	return NULL;
}

const struct sbx_lang *sbx_lang_guess(const char *file_name)
{
	const char *dot = strrchr(file_name, '.');
	const struct sbx_lang *lang;

	if (dot == NULL || strchr(dot, '/') != NULL)
		return NULL;
	for (size_t i = 0; (lang = sbx_lang_at(i)) != NULL; i++) {
		if (has_name(lang->extensions, dot))
			return lang;
	}
	return NULL;
}
