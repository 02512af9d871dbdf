/* SPDX-License-Identifier: MIT */
/*
 * What libraries a language has inside a sandbox: asked once for the life of the server, from
 * the tool chain itself in a sandbox of its own, when somebody wants to know.
 *
 * What a tool chain lists is a table of names and versions. Its keys are names as they are
 * compared: for Python in lower case with "-" for "_" and "." (PEP 503).
 */
#pragma once

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

/* The installed libraries' names as an array, which lives as long as the server. */
int mcp_libraries_list(struct mcp_libraries *libraries, const char *language, const json_t **ret,
		       struct sbx_error *err);

/*
 * Check that all of the wanted ones (an array of strings, such as "numpy>=1.20") are there; else
 * the error names the missing ones and what there is instead. *ret maps them to their versions.
 */
int mcp_libraries_check(struct mcp_libraries *libraries, const char *language,
			const json_t *wanted, json_t **ret, struct sbx_error *err);
