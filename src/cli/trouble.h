/* SPDX-License-Identifier: MIT */
/*
 * How the program fails and what it says to people. Functions fill a struct sbx_error, as the
 * library does, and return a negative code; only the top of a command prints it, once.
 */
#pragma once

#include <llmsandbox/error.h>

#include <stdbool.h>
#include <stdlib.h>

enum {
	STATUS_USAGE = 2,     /* the request is malformed */
	STATUS_TIMEOUT = 124, /* as timeout(1) */
	STATUS_TROUBLE = 125, /* we failed, not the program */
	STATUS_SIGNAL = 128,  /* + the signal */
};

/* A string that the end of its scope frees: auto_free char *s = NULL; */
#define auto_free __attribute__((cleanup(cli_auto_free_)))

static inline void cli_auto_free_(void *p)
{
	free(*(void **)p);
}

/* Fill err and return -code. */
int cli_fail(struct sbx_error *err, enum sbx_code code, const char *fmt, ...)
	__attribute__((nonnull, format(printf, 3, 4)));

/* Put "where: " in front of the sentence; returns -code. */
int cli_prefix(struct sbx_error *err, const char *where);

/* One line on stderr, "llm-sandbox: …", in which no byte can steer a terminal. */
void cli_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same for an error of the request; adds where to read more. Returns STATUS_USAGE. */
int cli_usage(const struct sbx_error *err, const char *command);

/* May this descriptor get colours? A terminal, and neither NO_COLOR nor TERM=dumb. */
bool cli_has_color(int fd);
