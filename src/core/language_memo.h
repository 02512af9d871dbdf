/* SPDX-License-Identifier: MIT */
/*
 * Which tool chains images were found to have, in a file of the cache folder (base/cache.h):
 *
 *	image-languages.json	{"sha256:…": {"python": "3.11.2"}, …}, the longest known first
 *
 * What is lost is asked again. Two processes that keep something at the same moment lose one of it.
 */
#pragma once

#include <jansson.h>

/* The caller's, {language: version}; NULL: it is not known. */
json_t *sbx_language_memo_recall(const char *id);
void sbx_language_memo_keep(const char *id, const json_t *versions);
