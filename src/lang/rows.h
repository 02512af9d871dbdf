/* SPDX-License-Identifier: MIT */
/* The rows, for table.c alone; everybody else walks the table. */
#pragma once

#include "lang/lang.h"

extern const struct sbx_lang sbx_lang_python;
extern const struct sbx_lang sbx_lang_java;
extern const struct sbx_lang sbx_lang_javascript;
extern const struct sbx_lang sbx_lang_cpp;
extern const struct sbx_lang sbx_lang_go;
extern const struct sbx_lang sbx_lang_ruby;
extern const struct sbx_lang sbx_lang_r;
