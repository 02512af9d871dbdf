/* SPDX-License-Identifier: MIT */
#include "base/cache.h"

#include "base/auto.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool sbx_cache_path(char ret[PATH_MAX])
{
	const char *xdg = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");
	int n = 0;

	if (xdg != NULL && xdg[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/llm-sandbox", xdg);
	else if (geteuid() == 0)
		n = snprintf(ret, PATH_MAX, "/var/cache/llm-sandbox");
	else if (home != NULL && home[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/.cache/llm-sandbox", home);
	return n > 0 && n < PATH_MAX;
}

bool sbx_cache_is_ours(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_uid == geteuid() && (st->st_mode & 0022) == 0;
}

int sbx_cache_open(const char *name, bool make)
{
	char path[PATH_MAX];
	auto_close int fd = -1;
	struct stat st;

	if (!sbx_cache_path(path))
		return -1;
	for (char *slash = strchr(path + 1, '/'); make; slash = strchr(slash + 1, '/')) {
		if (slash != NULL)
			*slash = '\0';
		mkdir(path, 0755);
		if (slash == NULL)
			break;
		*slash = '/';
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !sbx_cache_is_ours(&st))
		return -1;
	if (strcmp(name, ".") != 0) {
		int inner;

		if (make)
			mkdirat(fd, name, 0755);
		inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		close(fd);
		fd = inner;
		if (fd < 0 || fstat(fd, &st) < 0 || !sbx_cache_is_ours(&st))
			return -1;
	}
	return take_fd(fd);
}
