/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char *verdict, const char *fmt, va_list args)
{
	printf("%s: ", verdict);
	vprintf(fmt, args);
	putchar('\n');
	fflush(stdout);
}

int came_through(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say("CAME THROUGH", fmt, args);
	va_end(args);
	return 1;
}

int held(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say("held", fmt, args);
	va_end(args);
	return 0;
}

int must_fail(const char *what, long ret, int expected)
{
	int got = errno;

	if (ret >= 0)
		return came_through("%s succeeded", what);
	if (got != expected)
		return came_through("%s gave '%s' instead of '%s'", what, strerror(got),
				    strerror(expected));
	return held("%s: %s", what, strerror(got));
}

int must_be_denied(const char *what, long ret)
{
	int got = errno;

	if (ret >= 0)
		return came_through("%s succeeded", what);
	if (got != EACCES && got != EPERM && got != EROFS && got != ENOENT)
		return came_through("%s gave '%s', which is no refusal", what, strerror(got));
	return held("%s: %s", what, strerror(got));
}

long read_text(const char *path, char *ret, unsigned long size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned long len = 0;
	long n = 0;

	if (fd < 0)
		return -1;
	while (len < size - 1 && (n = read(fd, ret + len, size - 1 - len)) > 0)
		len += (unsigned long)n;
	ret[len] = '\0';
	close(fd);
	return n < 0 ? -1 : (long)len;
}

int main(int argc, char **argv)
{
	const struct attack *lists[] = {attacks_on_calls, attacks_on_processes, attacks_on_files,
					attacks_on_network, attacks_on_resources};

	for (size_t i = 0; argc > 1 && i < sizeof(lists) / sizeof(lists[0]); i++)
		for (const struct attack *a = lists[i]; a->name != NULL; a++)
			if (strcmp(a->name, argv[1]) == 0)
				return a->run(argv + 2);
	fprintf(stderr, "attack: no such attack\n");
	return 2;
}
