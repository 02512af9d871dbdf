/* SPDX-License-Identifier: MIT */
#include "cli/beside.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool beside_find(const char *name, char ret[PATH_MAX])
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (len <= 0)
		return false;
	self[len] = '\0';
	slash = strrchr(self, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	return snprintf(ret, PATH_MAX, "%s/%s", self, name) < PATH_MAX && access(ret, X_OK) == 0;
}
