/* SPDX-License-Identifier: MIT */
/*
 * Where a server listens: "127.0.0.1:8080", "[::1]:8080", "localhost:8080", "8080" (which is
 * 127.0.0.1:8080) or "unix:/run/x.sock". Names are not looked up: who else can reach the server
 * must not depend on a name server.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

struct http_address {
	union {
		struct sockaddr any;
		struct sockaddr_un unix_socket;
		struct sockaddr_storage storage;
	} at;
	socklen_t len;
	bool is_unix;
	bool is_loopback; /* no other machine reaches it */
	struct stat node; /* of our Unix socket, once it is there */
};

int http_address_parse(const char *text, struct http_address *ret, struct sbx_error *err);

/*
 * Listen there without blocking; the caller owns *ret_fd. What port 0 became is put into the
 * address. A Unix socket is for its owner alone; one that nobody listens on is replaced.
 */
int http_address_listen(struct http_address *address, int *ret_fd, struct sbx_error *err);

/* Remove a Unix socket, if it is still ours. */
void http_address_leave(const struct http_address *address);

/* "http://127.0.0.1:8080/mcp" or "unix:/run/x.sock". */
void http_address_format(const struct http_address *address, bool tls, const char *path, char *ret,
			 size_t size);
