/* SPDX-License-Identifier: MIT */
#include "mcp/transport.h"

#include <stdio.h>
#include <sys/random.h>

bool mcp_make_id(char ret[MCP_ID_SIZE])
{
	unsigned char bytes[(MCP_ID_SIZE - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return true;
}
