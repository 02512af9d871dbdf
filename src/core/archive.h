/* SPDX-License-Identifier: MIT */
/*
 * libarchive translates names between the encoding of an archive and that of the thread's locale.
 * In a UTF-8 locale that changes no byte, so our thread is in one while we use it.
 */
#pragma once

#include <locale.h>

struct sbx_locale {
	locale_t own, before;
};

static inline void sbx_locale_enter(struct sbx_locale *l)
{
	l->own = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	l->before = l->own ? uselocale(l->own) : (locale_t)0;
}

static inline void sbx_locale_leave(struct sbx_locale *l)
{
	if (l->own == (locale_t)0)
		return;
	uselocale(l->before);
	freelocale(l->own);
}
