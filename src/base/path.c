/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include <limits.h>
#include <stddef.h>

static bool is_name(const char *name, size_t len)
{
	return len > 0 && len <= 255 && !(len == 1 && name[0] == '.') &&
	       !(len == 2 && name[0] == '.' && name[1] == '.');
}

bool sbx_path_is_clean(const char *path)
{
	if (path[0] != '/')
		return false;
	if (path[1] == '\0')
		return true;
	while (*path == '/') {
		size_t len = strcspn(path + 1, "/");

		if (!is_name(path + 1, len))
			return false;
		path += 1 + len;
	}
	return true;
}

bool sbx_path_is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

bool sbx_path_is_component(const char *name)
{
	return strchr(name, '/') == NULL && is_name(name, strlen(name));
}

bool sbx_path_is_relative(const char *path)
{
	if (strlen(path) >= PATH_MAX)
		return false;
	for (;;) {
		size_t len = strcspn(path, "/");

		if (!is_name(path, len))
			return false;
		if (path[len] == '\0')
			return true;
		path += len + 1;
	}
}
