/* SPDX-License-Identifier: MIT */
/*
 * Just enough of Java's lexical structure (JLS chapter 3) to know which top-level types a file
 * has, which of them is public and which has a main(). It never refuses a file: what is wrong
 * with a program is javac's to say.
 */
#pragma once

#include "lang/lang.h"

/* File named after the public type, else after the one that is started; {main} is that one. */
bool sbx_java_inspect(const char *code, size_t len, struct sbx_lang_source *ret,
		      const char **ret_why);
