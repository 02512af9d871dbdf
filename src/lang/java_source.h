/* SPDX-License-Identifier: MIT */
/*
 * What a Java source must be called, and which of its classes to start.
 *
 * javac wants a file to bear the name of its public type. The type to start is the public one
 * if it has a main method, else the first in the file that has one. This is no parser: it sees
 * words, braces and parentheses, and skips comments and literals. What it does not understand it
 * leaves to javac and java, whose messages are better than ours.
 */
#pragma once

#include "lang/lang.h"

/* The inspect hook of the row; always true. */
bool sbx_java_inspect(const char *code, size_t len, struct sbx_lang_source *ret,
		      const char **ret_why);
