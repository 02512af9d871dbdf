/* SPDX-License-Identifier: MIT */
/*
 * The program that escape_test.c runs inside a sandbox: `attack NAME [ARGUMENT...]` tries one
 * way out and says what happened. It exits 0 when the attack failed as it must, and 1 when it
 * came through, or failed for another reason than the promised one.
 *
 * It is a static program, so that it needs nothing of the sandbox it is in.
 */
#pragma once

#include <stdbool.h>

struct attack {
	const char *name;
	int (*run)(char **args); /* NULL-terminated */
};

/* Each list ends with a row of NULL. */
extern const struct attack attacks_on_calls[];
extern const struct attack attacks_on_processes[];
extern const struct attack attacks_on_files[];
extern const struct attack attacks_on_network[];
extern const struct attack attacks_on_resources[];

/* Print one line; 1. */
int came_through(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Print one line; 0. */
int held(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ret and errno of a call: it must have failed, with this error. */
int must_fail(const char *what, long ret, int expected);

/* As must_fail(), with any of the errors that mean "you may not": EACCES EPERM EROFS ENOENT. */
int must_be_denied(const char *what, long ret);

/* Read a file as a string of at most size - 1 bytes; the length, or negative with errno. */
long read_text(const char *path, char *ret, unsigned long size);
