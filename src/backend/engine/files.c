/* SPDX-License-Identifier: MIT */
#include "backend/engine/files.h"

#include "base/auto.h"
#include "base/cache.h"
#include "base/io.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "engine"

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

/* Of the contents. */
static void name_of(const char *text, size_t len, char ret[32])
{
	struct sbx_sha256 hash = SBX_SHA256_INIT;
	char hex[SBX_SHA256_HEX];

	sbx_sha256_add(&hash, text, len);
	sbx_sha256_hex(&hash, hex);
	snprintf(ret, 32, "%.16s", hex);
}

char *engine_file_with(const char *text)
{
	auto_close int folder_fd = sbx_cache_open(FOLDER, true);
	size_t len = strlen(text);
	char cache[PATH_MAX], name[32], *path;

	if (folder_fd < 0 || !sbx_cache_path(cache))
		return NULL;
	name_of(text, len, name);
	if (!holds(folder_fd, name, text, len) && write_file(folder_fd, name, text, len) < 0)
		return NULL;
	return asprintf(&path, "%s/" FOLDER "/%s", cache, name) < 0 ? NULL : path;
}
