/* SPDX-License-Identifier: MIT */
#include "backend/engine/seccomp.h"

#include "backend/engine/files.h"
#include "backend/engine/seccomp_profile.h"
#include "base/auto.h"

#include <errno.h>
#include <string.h>

#define OPTION	   "seccomp="
#define OPTION_LEN (sizeof(OPTION) - 1)

/* ---- options ---- */

/* The place of the option in the list, or its length. */
static size_t find_option(const json_t *options)
{
	json_t *item;
	size_t i;

	json_array_foreach(options, i, item) {
		if (strncmp(json_string_value(item) ?: "", OPTION, OPTION_LEN) == 0)
			return i;
	}
	return json_array_size(options);
}

bool engine_seccomp_is_wished(const json_t *container)
{
	const json_t *host = json_object_get(container, "HostConfig");
	const json_t *options = json_object_get(host, "SecurityOpt");

	return find_option(options) < json_array_size(options) ||
	       json_is_true(json_object_get(host, "Privileged"));
}

/* The option with a file in which this text is; NULL: there is no place for one. */
static json_t *in_file(const char *text)
{
	auto_free char *path = engine_file_with(text);

	return path ? json_sprintf(OPTION "%s", path) : NULL;
}

/* A text that was wished becomes a file for who takes nothing else. */
static int settle_wished(const struct engine_client *client, json_t *options, size_t at,
			 struct sbx_error *err)
{
	const struct engine_flavor *flavor = engine_client_flavor(client);
	const char *profile = json_string_value(json_array_get(options, at)) + OPTION_LEN;
	json_t *file;

	if (flavor->seccomp_inline || profile[0] != '{')
		return 0;
	file = engine_client_is_local(client) ? in_file(profile) : NULL;
	if (file == NULL)
		return sbx_fail(err, SBX_E_INVALID,
				"runtime_configs: %s takes a seccomp profile as the path of a file on its machine",
				flavor->title);
	json_array_set_new(options, at, file);
	return 0;
}

/* Ours as this engine takes it; NULL: it does not, and why. */
static json_t *our_option(const struct engine_client *client, const char **ret_reason)
{
	json_t *option;

	if (engine_client_flavor(client)->seccomp_inline)
		return json_sprintf(OPTION "%s", seccomp_profile);
	*ret_reason = "this engine takes one of ours from a file of its machine alone";
	if (!engine_client_is_local(client))
		return NULL;
	option = in_file(seccomp_profile);
	*ret_reason = "there is no cache folder to write ours to that others cannot write";
	return option;
}

int engine_seccomp_add(const struct engine_client *client, json_t *container, struct engine_seccomp *ret,
		       struct sbx_error *err)
{
	json_t *host = json_object_get(container, "HostConfig");
	json_t *options = json_object_get(host, "SecurityOpt"), *ours;
	size_t at = find_option(options);

	*ret = (struct engine_seccomp){.profile = ENGINE_PROFILE_WISHED};
	if (at < json_array_size(options))
		return settle_wished(client, options, at, err);
	if (engine_seccomp_is_wished(container))
		return 0;
	ours = our_option(client, &ret->reason);
	ret->profile = ours ? ENGINE_PROFILE_OURS : ENGINE_PROFILE_ENGINES;
	if (ours != NULL && json_array_append_new(options, ours) < 0)
		return sbx_fail_errno(err, ENOMEM, "cannot describe a container");
	return 0;
}

/* An engine behind a socket of this machine may be on another one all the same, or in a virtual one. */
bool engine_seccomp_give_up(json_t *container, struct engine_seccomp *seccomp, const struct sbx_error *err)
{
	json_t *options = json_object_get(json_object_get(container, "HostConfig"), "SecurityOpt");
	size_t at = find_option(options);
	const char *path = json_string_value(json_array_get(options, at));

	if (seccomp->profile != ENGINE_PROFILE_OURS || path == NULL || path[OPTION_LEN] != '/' ||
	    strstr(err->msg, path + OPTION_LEN) == NULL)
		return false;
	json_array_remove(options, at);
	*seccomp = (struct engine_seccomp){
		.profile = ENGINE_PROFILE_ENGINES,
		.reason = "this engine cannot read the file that ours is in",
	};
	return true;
}
