/* SPDX-License-Identifier: MIT */
#include "backend/engine/seccomp.h"

#include "backend/engine/seccomp_profile.h"
#include "base/auto.h"
#include "base/cache.h"
#include "base/io.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FOLDER	   "seccomp"
#define OPTION	   "seccomp="
#define OPTION_LEN (sizeof(OPTION) - 1)

/* ---- files for engines that take no text ---- */

static bool holds(int folder_fd, const char *name, const char *text, size_t len)
{
	auto_free char *found = NULL;
	struct sbx_error ignored;
	size_t found_len;

	return sbx_read_file(folder_fd, name, len, &found, &found_len, &ignored) == 0 &&
	       found_len == len && memcmp(found, text, len) == 0;
}

/* Under another name first, so that the final one is whole. Engines may be somebody else's process. */
static int write_file(int folder_fd, const char *name, const char *text, size_t len)
{
	auto_close int fd = -1;
	char made[64];
	int r;

	snprintf(made, sizeof(made), "new-%d-%.32s", gettid(), name);
	unlinkat(folder_fd, made, 0);
	fd = openat(folder_fd, made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	r = fchmod(fd, 0644) < 0 ? -errno : sbx_write_all(fd, text, len);
	if (r == 0 && renameat(folder_fd, made, folder_fd, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(folder_fd, made, 0);
	return r;
}

static void name_of(const char *text, size_t len, char ret[32])
{
	struct sbx_sha256 hash = SBX_SHA256_INIT;
	char hex[SBX_SHA256_HEX];

	sbx_sha256_add(&hash, text, len);
	sbx_sha256_hex(&hash, hex);
	snprintf(ret, 32, "%.16s.json", hex);
}

/* The path of a file with this text in it; NULL: there is no place for one. */
static json_t *file_with(const char *text)
{
	auto_close int folder_fd = sbx_cache_open(FOLDER, true);
	size_t len = strlen(text);
	char cache[PATH_MAX], name[32];

	if (folder_fd < 0 || !sbx_cache_path(cache))
		return NULL;
	name_of(text, len, name);
	if (!holds(folder_fd, name, text, len) && write_file(folder_fd, name, text, len) < 0)
		return NULL;
	return json_sprintf(OPTION "%s/" FOLDER "/%s", cache, name);
}

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

/* A text that was wished becomes a file for who takes nothing else. */
static int settle_wished(const struct engine_client *client, json_t *options, size_t at,
			 struct sbx_error *err)
{
	const struct engine_flavor *flavor = engine_client_flavor(client);
	const char *profile = json_string_value(json_array_get(options, at)) + OPTION_LEN;
	json_t *file;

	if (flavor->seccomp_inline || profile[0] != '{')
		return 0;
	file = engine_client_is_local(client) ? file_with(profile) : NULL;
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
	option = file_with(seccomp_profile);
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
