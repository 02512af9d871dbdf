/* SPDX-License-Identifier: MIT */
/* What a request means: who may ask, of which era it is, and who answers it. */
#pragma once

#include "mcp/http_conn.h"

/* The head is there. False when it has been answered, and the body is of no interest. */
bool http_endpoint_head(struct http_conn *conn);

/* All of the request is there. */
void http_endpoint_request(struct http_conn *conn);
