/* SPDX-License-Identifier: MIT */
/*
 * In the newer era header fields mirror parts of the body, so that proxies can route without
 * reading bodies. Whoever trusts them must be sure that we act on the same values.
 */
#pragma once

#include "mcp/http_parse.h"
#include "mcp/transport.h"

/* True when the fields say what message says; else why has a sentence of at most size bytes. */
bool http_headers_match(const struct mcp_server *server, const struct http_head *head,
			const json_t *message, char *why, size_t size);

/* params._meta's protocol version in a message, or NULL. */
const char *http_headers_body_revision(const json_t *message);
