/* SPDX-License-Identifier: MIT */
#include "mcp/http_guard.h"

#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#define HOST_MAX 256u

/* "name", "name:port", "[::1]:port": the name alone into ret; false when it is none of them. */
static bool cut_port(const char *authority, char ret[HOST_MAX])
{
	size_t len = authority[0] == '[' ? strcspn(authority, "]") + 1 : strcspn(authority, ":");

	if (len == 0 || len >= HOST_MAX || len > strlen(authority))
		return false;
	if (authority[len] == ':' &&
	    strspn(authority + len + 1, "0123456789") != strlen(authority + len + 1))
		return false;
	if (authority[len] != ':' && authority[len] != '\0')
		return false;
	memcpy(ret, authority, len);
	ret[len] = '\0';
	return true;
}

static bool is_loopback_name(const char *host)
{
	struct in_addr v4;

	if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
		return true;
	return inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

static bool is_in(const char *const *list, const char *text)
{
	for (; list != NULL && *list != NULL; list++) {
		if (strcasecmp(*list, text) == 0)
			return true;
	}
	return false;
}

static bool is_loopback_origin(const char *origin)
{
	char host[HOST_MAX];

	if (strncasecmp(origin, "http://", 7) == 0)
		origin += 7;
	else if (strncasecmp(origin, "https://", 8) == 0)
		origin += 8;
	else
		return false;
	return cut_port(origin, host) && is_loopback_name(host);
}

bool http_guard_is_listed(const struct http_server *server, const char *origin)
{
	return is_in(server->options->origins, origin);
}

bool http_guard_origin(const struct http_server *server, const struct http_head *head)
{
	const char *origin = http_head_find(head, "Origin");

	return origin == NULL || is_loopback_origin(origin) || http_guard_is_listed(server, origin);
}

/* Nobody's browser reaches a Unix socket; and on other addresses we know no names of our own. */
static bool checks_host(const struct http_server *server)
{
	if (server->address.is_unix)
		return false;
	return server->address.is_loopback || server->options->hosts != NULL;
}

bool http_guard_host(const struct http_server *server, const struct http_head *head)
{
	const char *authority = http_head_find(head, "Host");
	char host[HOST_MAX];

	/* A parser error without it, but for HTTP/1.0, which no browser speaks. */
	if (authority == NULL || !checks_host(server))
		return true;
	if (!cut_port(authority, host))
		return false;
	return is_loopback_name(host) || is_in(server->options->hosts, host) ||
	       is_in(server->options->hosts, authority);
}

/* Digests have one length, so that not even the length of the token shows in the time. */
static bool is_same_secret(const char *a, const char *b)
{
	unsigned char da[EVP_MAX_MD_SIZE], db[EVP_MAX_MD_SIZE];

	return EVP_Digest(a, strlen(a), da, NULL, EVP_sha256(), NULL) == 1 &&
	       EVP_Digest(b, strlen(b), db, NULL, EVP_sha256(), NULL) == 1 &&
	       CRYPTO_memcmp(da, db, 32) == 0;
}

bool http_guard_token(const struct http_server *server, const struct http_head *head)
{
	const char *value = http_head_find(head, "Authorization");

	if (server->options->token == NULL)
		return true;
	if (value == NULL || strncasecmp(value, "Bearer ", 7) != 0)
		return false;
	value += 7;
	value += strspn(value, " ");
	return is_same_secret(value, server->options->token);
}
