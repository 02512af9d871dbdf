/* SPDX-License-Identifier: MIT */
#include "complain.h"

#include <stdarg.h>
#include <stdio.h>

/* Names from outside may be in the text: a terminal must not take them for commands. */
static void print_harmless(const char *text)
{
	for (; *text != '\0'; text++)
		fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, stderr);
}

void complain(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fputs("llm-sandbox: ", stderr);
	print_harmless(text);
	fputc('\n', stderr);
}
