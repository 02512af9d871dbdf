/* SPDX-License-Identifier: MIT */
/* Whether an engine sets the limits of its containers. Those that pass them by do not say so then. */
#include "backend/engine/container.h"

#include "backend/engine/known.h"

#include <string.h>

static const char *text_of(const json_t *info, const char *key)
{
	return json_string_value(json_object_get(info, key)) ?: "";
}

/* Each engine says it in its own way. */
static bool is_rootless(const json_t *info)
{
	json_t *item;
	size_t i;

	if (json_is_true(json_object_get(info, "Rootless")))
		return true;
	json_array_foreach(json_object_get(info, "SecurityOptions"), i, item) {
		if (strstr(json_string_value(item) ?: "", "rootless") != NULL)
			return true;
	}
	return false;
}

/*
 * 1: yes, -1: no, 0: it did not answer. An ordinary user's has no groups with version 1 of cgroups. One whose socket is root's is root's, and
 * need not be asked: that would make every start slower.
 */
static int ask(struct engine_client *client)
{
	struct sbx_error ignored;
	json_t *info = NULL;
	bool has_groups;
	uid_t owner;

	if (engine_client_owner(client, &owner) && owner == 0)
		return 1;
	if (engine_call(client, &(struct engine_request){.method = "GET", .path = "/info"}, &info,
			&ignored) < 0)
		return 0;
	has_groups = strcmp(text_of(info, "CgroupDriver"), "none") != 0 &&
		     !(is_rootless(info) && strcmp(text_of(info, "CgroupVersion"), "1") == 0);
	json_decref(info);
	return has_groups ? 1 : -1;
}

bool engine_sets_limits(struct engine_client *client)
{
	const char *key = engine_client_key(client);
	int known = engine_known_get(key).limits;

	if (known == 0) {
		known = ask(client);
		if (known != 0)
			engine_known_set_limits(key, known > 0);
	}
	return known > 0;
}
