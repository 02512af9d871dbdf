/* SPDX-License-Identifier: MIT */
/*
 * The sets of programs that stand beside the project where it is developed: JSON objects, one a
 * line, in a folder that SBX_SHARED names (else ../shared beside the source).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define PROGRAMS_MAX 4096

struct programs {
	json_t *list[PROGRAMS_MAX]; /* owned */
	size_t count;
};

/* Add the programs of data/SET/FILE.jsonl; false when there is no such file. */
bool programs_load(struct programs *p, const char *set, const char *file);
void programs_done(struct programs *p);

/* A text field of a program; "" when it has none. */
const char *program_text(const json_t *program, const char *key);

/* Call work for every step-th program, on two threads, until it returns false once. */
void programs_each(const struct programs *p, size_t step,
		   bool (*work)(const json_t *program, void *userdata), void *userdata);
