/* SPDX-License-Identifier: MIT */
/*
 * Who may speak to the server at all. A web page that the user visits can make the browser send
 * requests to loopback: Origin says so, and after DNS rebinding at least Host does.
 */
#pragma once

#include "mcp/http_parse.h"
#include "mcp/http_server.h"

/* No Origin (no browser), loopback, or one of the options'. */
bool http_guard_origin(const struct http_server *server, const struct http_head *head);

/* The options name this Origin: its pages may also read the answers (CORS). */
bool http_guard_is_listed(const struct http_server *server, const char *origin);

/* A name of loopback, or one of the options'; checked where it protects something. */
bool http_guard_host(const struct http_server *server, const struct http_head *head);

/* The bearer token, compared in constant time; true when the server wants none. */
bool http_guard_token(const struct http_server *server, const struct http_head *head);
