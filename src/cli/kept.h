/* SPDX-License-Identifier: MIT */
/* What commands about things that are kept on this machine (libraries, images) print alike. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#define KEPT_DAY_MAX 16

/* Print it on stdout, and give it back. */
void kept_print_json(json_t *value);

/* A size in a column of its own: " 123.4M ". */
void kept_print_size(uint64_t bytes);

/* The day of a time in seconds, "2026-11-30", or "" where that is none. */
const char *kept_day(uint64_t seconds, char ret[KEPT_DAY_MAX]);

/* The exit status of a command that has printed all it had to. */
int kept_finish(void);
