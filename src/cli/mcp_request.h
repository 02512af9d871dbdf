/* SPDX-License-Identifier: MIT */
/* The command line of `mcp install`: its options as one table, what they add up to, its help. */
#pragma once

#include "cli/mcp_clients.h"

/* Strings belong to argv. */
struct mcp_request {
	const struct mcp_client *client;
	enum mcp_scope scope;
	const char *client_name, *scope_name; /* as given */
	const char *name; /* of the entry */
	const char *file; /* instead of the client's, or NULL */
	const char *url, *token_env; /* of a server elsewhere, or NULL */
	bool print, remove, help;
	char **args; /* for the server, NULL-terminated */
};

/* argv[0] is "install". With help set nothing else is checked. */
int mcp_request_parse(int argc, char **argv, struct mcp_request *ret, struct sbx_error *err);

/* Text of 80 columns; returns the exit status. */
int mcp_request_help(void);
