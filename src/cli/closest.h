/* SPDX-License-Identifier: MIT */
/*
 * "Did you mean …": the candidate nearest to what was typed.
 *
 *	struct closest c = {.typed = "memroy"};
 *	closest_offer(&c, "memory");
 *	closest_hint(&c, "--") is "; did you mean '--memory'?", or "" when nothing is near
 */
#pragma once

#include <stddef.h>

struct closest {
	const char *typed;
	const char *best; /* NULL: nothing is near */
	size_t distance;
	char hint[96];
};

void closest_offer(struct closest *c, const char *candidate);
const char *closest_hint(struct closest *c, const char *prefix);
