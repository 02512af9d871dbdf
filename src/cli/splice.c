/* SPDX-License-Identifier: MIT */
#include "cli/splice.h"

#include <string.h>

const char *splice_line_end(const struct text *in)
{
	const char *newline = memchr(in->data, '\n', in->len);

	return newline != NULL && newline > in->data && newline[-1] == '\r' ? "\r\n" : "\n";
}

unsigned int splice_line(const char *text, size_t at)
{
	unsigned int line = 1;

	for (size_t i = 0; i < at; i++)
		line += text[i] == '\n';
	return line;
}
