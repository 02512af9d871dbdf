/* SPDX-License-Identifier: MIT */
/*
 * Artifacts and files of sessions as resources: sandbox://sessions/{id}/artifacts/{number} and
 * sandbox://sessions/{id}/files/{path}. The path is written with
 * percent-encoding (RFC 3986 section 2.1), so that every name can be written; its slashes may
 * stand as they are, but for one at the start. Pure.
 */
#pragma once

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

#define MCP_FILE_URI_TEMPLATE "sandbox://sessions/{id}/files/{path}"

/* The URI as a JSON string. */
json_t *mcp_file_uri(const char *session_id, const char *path);

/* False when it is none of a file. The caller frees *ret_id and *ret_path. */
bool mcp_file_uri_parse(const char *uri, char **ret_id, char **ret_path);

#define MCP_ARTIFACT_URI_TEMPLATE "sandbox://sessions/{id}/artifacts/{number}"

/* The URI as a JSON string. */
json_t *mcp_artifact_uri(const char *session_id, uint32_t number);

/* False when it is none of an artifact. The caller frees *ret_id. */
bool mcp_artifact_uri_parse(const char *uri, char **ret_id, uint32_t *ret_number);
