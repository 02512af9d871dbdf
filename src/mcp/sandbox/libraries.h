/* SPDX-License-Identifier: MIT */
/*
 * What libraries a language has inside a sandbox before any is installed: asked once for the life
 * of the server, from the tool chain itself in a sandbox of its own, when somebody wants to know.
 *
 * What a tool chain lists is a table of names and versions. Its keys are names as they are
 * compared: for Python in lower case with "-" for "_" and "." (PEP 503).
 */
#pragma once

#include "mcp/mcp.h"
#include "mcp/sandbox/environment.h"

#include <jansson.h>
#include <pthread.h>

#define MCP_LANGUAGES_MAX 16

struct mcp_library_list {
	json_t *known;	/* key: version; all that code can use */
	json_t *listed; /* names as people write them; what is more than the standard library */
};

struct mcp_libraries {
	pthread_mutex_t lock;
	const struct mcp_environment *environment;
	struct mcp_library_list lists[MCP_LANGUAGES_MAX]; /* by the language's place in the table */
};

void mcp_libraries_init(struct mcp_libraries *libraries, const struct mcp_environment *environment);
void mcp_libraries_done(struct mcp_libraries *libraries);

/* The installed libraries' names as an array, which lives as long as the server; for this call. */
int mcp_libraries_list(struct mcp_libraries *libraries, const struct mcp_call *call, const char *language,
		       const json_t **ret, struct sbx_error *err);

/*
 * Of the wanted ones (an array of strings, such as "numpy>=1.20"): *ret_versions maps those that
 * come with the tool chain to their versions, *ret_missing lists the others; both are the
 * caller's. What names a version is for the installer, which judges it.
 */
int mcp_libraries_split(struct mcp_libraries *libraries, const struct mcp_call *call, const char *language,
			const json_t *wanted, json_t **ret_versions, json_t **ret_missing,
			struct sbx_error *err);

/* Whether an installed package is the one that a requirement names. */
bool mcp_library_is_of(const char *language, const char *requirement, const char *package);

/* The error of libraries that are not there where nothing may be installed. */
int mcp_libraries_refuse(struct mcp_libraries *libraries, const struct mcp_call *call, const char *language,
			 const json_t *missing, struct sbx_error *err);
