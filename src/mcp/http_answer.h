/* SPDX-License-Identifier: MIT */
/* Whole answers in JSON. */
#pragma once

#include "mcp/http_conn.h"

const char *http_status_text(int status);

void http_answer_json(struct http_conn *conn, int status, const json_t *value);

/* An error of JSON-RPC that belongs to no message: what is wrong lies in HTTP itself. */
void http_answer_refuse(struct http_conn *conn, int status, const char *why);

/* An error of JSON-RPC for a message; id NULL: none. */
void http_answer_error(struct http_conn *conn, int status, const json_t *id, int code,
		       const char *why);
