/* SPDX-License-Identifier: MIT */
/* The rows that table.c lists; each is in the file of its name. */
#pragma once

#include "lang/lang.h"

extern const struct sbx_lang sbx_lang_python;
extern const struct sbx_lang sbx_lang_java;
extern const struct sbx_lang sbx_lang_javascript;
extern const struct sbx_lang sbx_lang_cpp;
extern const struct sbx_lang sbx_lang_go;
extern const struct sbx_lang sbx_lang_ruby;
extern const struct sbx_lang sbx_lang_r;
