/* SPDX-License-Identifier: MIT */
/*
 * What a model may reach, within what whoever runs the server allows. A rule of a model's own is
 * a wish and never a grant: it passes only where the server's rules already lead, or, when every
 * public address is allowed, if it names something public.
 */
#pragma once

#include "mcp/sandbox/environment.h"

#include <jansson.h>

#define MCP_NETWORK_ARGUMENTS \
	{.name = "network", .type = MCP_STRING, .nullable = true, .choices = mcp_network_modes,    \
	 .description = "What it may reach: none (the default), allow (the hosts of allow, or all " \
			"that the server allows), packages (the package managers' hosts too), open " \
			"(every public address). Refused beyond what the server allows"},          \
	{.name = "allow", .type = MCP_STRINGS, .nullable = true,                                   \
	 .description = "Hosts for network=allow, such as example.org, *.example.org or " \
			"example.org:8443; without a port 80 and 443"}

extern const char *const mcp_network_modes[];

/*
 * The network that arguments ask for; *ret is the caller's, and NULL for none. An error tells what
 * the server allows and who can allow more.
 */
int mcp_network_make(const struct mcp_environment *environment, const json_t *arguments,
		     struct sbx_network **ret, struct sbx_error *err);

/* The attempts of a run as JSON, the last ones if there are many; NULL: there were none. */
json_t *mcp_network_attempts(const struct sbx_result *result);
