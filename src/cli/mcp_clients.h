/* SPDX-License-Identifier: MIT */
/*
 * What is known of each MCP client: the file that lists its servers, the spelling of an entry,
 * and how to see that it works. A client is a row of mcp_clients.c.
 */
#pragma once

#include "cli/splice.h"

enum mcp_scope { MCP_SCOPE_USER, MCP_SCOPE_PROJECT };

/* Paths begin with "~/" (HOME), "@/" (XDG_CONFIG_HOME), or are in the current folder. */
struct mcp_client {
	const char *name, *title;
	const struct splice_format *format;
	const char *table;		/* that has the entries */
	const char *user, *user_darwin; /* user_darwin NULL: as everywhere */
	const char *home_variable;	/* names the folder that the user's file is in, or NULL */
	const char *project;		/* NULL: has no such file */
	const char *local_type, *remote_type; /* of entries, "stdio", "http"; NULL: unsaid */
	const char *no_remote;		/* why a URL cannot be in the file; NULL: it can */
	const char *token_key;		/* setting that takes the variable's name; NULL: a header */
	const char *token_before, *token_after; /* around the variable in the header */
	const char *next;		/* what the user does next */
};

/* The n-th client, or NULL past the last. */
const struct mcp_client *mcp_client_at(size_t n);

int mcp_client_find(const char *name, const struct mcp_client **ret, struct sbx_error *err);

/* Where its file is. */
int mcp_client_path(const struct mcp_client *client, enum mcp_scope scope, char ret[4096],
		    struct sbx_error *err);
