/* SPDX-License-Identifier: MIT */
#include <llmsandbox/language.h>

#include "lang/lang.h"

static const struct sbx_language_info *info_of(const struct sbx_lang *lang)
{
	return lang ? &lang->info : NULL;
}

const struct sbx_language_info *sbx_language_at(size_t n)
{
	return info_of(sbx_lang_at(n));
}

const struct sbx_language_info *sbx_language_find(const char *name)
{
	return name ? info_of(sbx_lang_find(name)) : NULL;
}

const struct sbx_language_info *sbx_language_guess(const char *file_name)
{
	return file_name ? info_of(sbx_lang_guess(file_name)) : NULL;
}
