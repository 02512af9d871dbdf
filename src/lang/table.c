/* SPDX-License-Identifier: MIT */
#include "lang/lang.h"

#include "lang/rows.h"

#include <string.h>
#include <strings.h>

/* In the order in which languages are listed everywhere. */
static const struct sbx_lang *const languages[] = {
	&sbx_lang_python, &sbx_lang_java, &sbx_lang_javascript, &sbx_lang_cpp,
	&sbx_lang_go,	  &sbx_lang_ruby, &sbx_lang_r,
};

#define LANGUAGES (sizeof(languages) / sizeof(languages[0]))

const struct sbx_lang *sbx_lang_at(size_t n)
{
	return n < LANGUAGES ? languages[n] : NULL;
}

static bool contains(const char *const *list, const char *text)
{
	for (size_t i = 0; list[i] != NULL; i++) {
		if (strcasecmp(list[i], text) == 0)
			return true;
	}
	return false;
}

const struct sbx_lang *sbx_lang_find(const char *name)
{
	for (size_t i = 0; i < LANGUAGES; i++) {
		const struct sbx_language_info *info = &languages[i]->info;

		if (strcasecmp(info->id, name) == 0 || contains(info->aliases, name))
			return languages[i];
	}
	return NULL;
}

const struct sbx_lang *sbx_lang_guess(const char *file_name)
{
	const char *slash = strrchr(file_name, '/');
	const char *base = slash ? slash + 1 : file_name;
	const char *dot = strrchr(base, '.');

	/* ".py" alone is a hidden file without extension. */
	if (dot == NULL || dot == base)
		return NULL;
	for (size_t i = 0; i < LANGUAGES; i++) {
		if (contains(languages[i]->extensions, dot))
			return languages[i];
	}
	return NULL;
}
