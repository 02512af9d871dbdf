/* SPDX-License-Identifier: MIT */
#include "core/registry_ended.h"

#include <stdio.h>
#include <string.h>

bool sbx_owner_sees(const char *owner, const char *owner_of_it)
{
	return owner == NULL || strcmp(owner_of_it, owner) == 0;
}

bool sbx_is_named(const char *id, const char *label, const char *owner, const char *name)
{
	return strcmp(id, name) == 0 ||
	       (owner != NULL && label[0] != '\0' && strcmp(label, name) == 0);
}

void sbx_ended_add(struct sbx_ended_list *list, const struct sbx_ended *ended)
{
	list->rows[list->count++ % SBX_ENDED_MAX] = *ended;
}

const struct sbx_ended *sbx_ended_find(const struct sbx_ended_list *list, const char *owner,
				       const char *name)
{
	size_t kept = list->count < SBX_ENDED_MAX ? list->count : SBX_ENDED_MAX;

	for (size_t i = 1; i <= kept; i++) {
		const struct sbx_ended *e = &list->rows[(list->count - i) % SBX_ENDED_MAX];

		if (sbx_owner_sees(owner, e->owner) && sbx_is_named(e->id, e->label, owner, name))
			return e;
	}
	return NULL;
}

/* In the largest unit of which it is a whole number. */
static void format_duration(uint64_t ms, char *ret, size_t size)
{
	static const struct {
		uint64_t ms;
		const char *name;
	} units[] = {{3600000, "hour"}, {60000, "minute"}, {1000, "second"}, {1, "millisecond"}};
	size_t i = 0;

	while (units[i].ms > 1 && (ms == 0 || ms % units[i].ms != 0))
		i++;
	snprintf(ret, size, "%llu %s%s", (unsigned long long)(ms / units[i].ms), units[i].name,
		 ms == units[i].ms ? "" : "s");
}

int sbx_ended_fail(const struct sbx_ended *e, enum sbx_code code, struct sbx_error *err)
{
	char when[40], duration[40];
	struct tm tm;

	gmtime_r(&e->when, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	format_duration(e->after_ms, duration, sizeof(duration));
	if (e->end == SBX_END_IDLE)
		return sbx_fail(
			err, code,
			"the session %s expired at %s, after %s without use, and its files are "
			"gone; create a new one",
			e->id, when, duration);
	if (e->end == SBX_END_LIFETIME)
		return sbx_fail(
			err, code,
			"the session %s expired at %s, when its life of %s was over, and its "
			"files are gone; create a new one",
			e->id, when, duration);
	return sbx_fail(err, code, "the session %s was closed at %s; create a new one", e->id,
			when);
}
