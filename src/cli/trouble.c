/* SPDX-License-Identifier: MIT */
#include "cli/trouble.h"

#include "cli/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int cli_fail(struct sbx_error *err, enum sbx_code code, const char *fmt, ...)
{
	va_list args;

	*err = (struct sbx_error){.code = code};
	va_start(args, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, args);
	va_end(args);
	return -(int)code;
}

int cli_prefix(struct sbx_error *err, const char *where)
{
	char msg[sizeof(err->msg)];

	memcpy(msg, err->msg, sizeof(msg));
	snprintf(err->msg, sizeof(err->msg), "%.200s: %.300s", where, msg);
	return -(int)err->code;
}

bool cli_has_color(int fd)
{
	const char *no_color = getenv("NO_COLOR"); /* https://no-color.org: set and not empty */
	const char *term = getenv("TERM");

	return (no_color == NULL || no_color[0] == '\0') &&
	       (term == NULL || strcmp(term, "dumb") != 0) && isatty(fd);
}

/* Of a character of n bytes: C0, DEL, and C1, which is U+0080 to U+009F. */
static bool is_control(const char *text, int n)
{
	unsigned char first = (unsigned char)text[0];

	return n == 1 ? first < 0x20 || first == 0x7f
		      : first == 0xc2 && (unsigned char)text[1] < 0xa0;
}

/* File names, arguments and what a sandbox said may be in a sentence: they stay text. */
static void defuse(char *text)
{
	size_t len = strlen(text);

	while (len > 0) {
		int n = utf8_length((const unsigned char *)text, len);
		size_t step = n > 0 ? (size_t)n : 1;

		if (n <= 0 || is_control(text, n))
			memset(text, '?', step);
		text += step;
		len -= step;
	}
}

void cli_say(const char *fmt, ...)
{
	bool color = cli_has_color(STDERR_FILENO);
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	defuse(text);
	dprintf(STDERR_FILENO, "%sllm-sandbox:%s %s\n", color ? "\033[31m" : "",
		color ? "\033[0m" : "", text);
}

int cli_usage(const struct sbx_error *err, const char *command)
{
	cli_say("%s", err->msg);
	dprintf(STDERR_FILENO, "See 'llm-sandbox help%s%s'.\n", command ? " " : "",
		command ? command : "");
	return STATUS_USAGE;
}
