/* SPDX-License-Identifier: MIT */
#include "mcp/core.h"

#include <string.h>

static const char *const levels[] = {"debug", "info",	   "notice", "warning",
				     "error", "critical", "alert",  "emergency"};

int mcp_level_rank(const char *level)
{
	for (size_t i = 0; level != NULL && i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(levels[i], level) == 0)
			return (int)i;
	return -1;
}
