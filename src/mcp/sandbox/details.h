/* SPDX-License-Identifier: MIT */
/* Languages as JSON: what the tools and the resources tell. Asking ends when the call is cancelled. */
#pragma once

#include "mcp/sandbox/inside.h"

/* ["python", "java", …], those of the image where one is set; the caller's. */
json_t *mcp_language_ids(struct mcp_call *call);

/*
 * {version, package_manager, preinstalled_libraries, use_cases, visualization_support,
 * examples} of a language (id or alias, any case). What is asked from the tool chain and cannot
 * be told is null, with the reason as "problem". SBX_E_NOT_FOUND when there is no such language.
 */
int mcp_language_details(struct mcp_call *call, const char *language, json_t **ret,
			 struct sbx_error *err);

/* Details of all, by id. */
int mcp_all_details(struct mcp_call *call, json_t **ret, struct sbx_error *err);
