/* SPDX-License-Identifier: MIT */
/*
 * Sessions that have ended, as far as they are remembered: so that whoever comes with an old id
 * hears that it expired, and when, and not just that there is none. Bounded; the oldest are
 * forgotten. No lock of its own.
 */
#pragma once

#include "base/error.h"

#include <llmsandbox/registry.h>

#include <time.h>

#define SBX_ENDED_MAX 256
#define SBX_OWNER_MAX 64 /* with its NUL */

enum sbx_end { SBX_ALIVE, SBX_END_IDLE, SBX_END_LIFETIME, SBX_END_CLOSED };

struct sbx_ended {
	char id[sizeof(((struct sbx_session_info *)NULL)->id)];
	char label[sizeof(((struct sbx_session_info *)NULL)->label)];
	char owner[SBX_OWNER_MAX];
	enum sbx_end end;
	time_t when;
	uint64_t after_ms; /* the time that was over */
};

/* A ring. */
struct sbx_ended_list {
	struct sbx_ended rows[SBX_ENDED_MAX];
	size_t count; /* written so far */
};

/* Whether an owner (NULL: any) sees what is owner_of_it's. */
bool sbx_owner_sees(const char *owner, const char *owner_of_it);

/* Whether name is the id, or the label where the owner is known. */
bool sbx_is_named(const char *id, const char *label, const char *owner, const char *name);

void sbx_ended_add(struct sbx_ended_list *list, const struct sbx_ended *ended);

/* The newest of that name that the owner sees, or NULL. */
const struct sbx_ended *sbx_ended_find(const struct sbx_ended_list *list, const char *owner,
				       const char *name);

/* The sentence that tells it. */
int sbx_ended_fail(const struct sbx_ended *ended, enum sbx_code code, struct sbx_error *err);
