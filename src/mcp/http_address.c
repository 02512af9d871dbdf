/* SPDX-License-Identifier: MIT */
#include "mcp/http_address.h"

#include "base/auto.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define BACKLOG 256

/* ---- text to address ---- */

static int parse_unix(const char *path, struct http_address *ret, struct sbx_error *err)
{
	struct sockaddr_un *sun = &ret->at.unix_socket;

	if (*path == '\0' || strlen(path) >= sizeof(sun->sun_path))
		return sbx_fail(err, SBX_E_INVALID,
				"the path of a Unix socket has 1 to %zu bytes; '%s' has %zu",
				sizeof(sun->sun_path) - 1, path, strlen(path));
	sun->sun_family = AF_UNIX;
	strcpy(sun->sun_path, path);
	ret->len = sizeof(*sun);
	ret->is_unix = true;
	ret->is_loopback = true;
	return 0;
}

static bool parse_port(const char *text, in_port_t *ret)
{
	unsigned long value = 0;

	if (*text == '\0' || strlen(text) > 5 || text[strspn(text, "0123456789")] != '\0')
		return false;
	value = strtoul(text, NULL, 10);
	*ret = htons((in_port_t)value);
	return value <= 65535;
}

static bool parse_v4(const char *host, in_port_t port, struct http_address *ret)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)&ret->at.storage;

	if (inet_pton(AF_INET, host, &sin->sin_addr) != 1)
		return false;
	sin->sin_family = AF_INET;
	sin->sin_port = port;
	ret->len = sizeof(*sin);
	ret->is_loopback = ntohl(sin->sin_addr.s_addr) >> 24 == 127;
	return true;
}

static bool parse_v6(const char *host, in_port_t port, struct http_address *ret)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&ret->at.storage;

	if (inet_pton(AF_INET6, host, &sin6->sin6_addr) != 1)
		return false;
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = port;
	ret->len = sizeof(*sin6);
	ret->is_loopback = IN6_IS_ADDR_LOOPBACK(&sin6->sin6_addr);
	return true;
}

/* Cut "host:port", "[host]:port" or "port" in two; false when it is none of them. */
static bool split(char *text, const char **ret_host, const char **ret_port, bool *ret_v6)
{
	char *colon = strrchr(text, ':');

	*ret_host = colon == NULL ? "127.0.0.1" : text;
	*ret_port = colon == NULL ? text : colon + 1;
	*ret_v6 = text[0] == '[';
	if (colon == NULL)
		return true;
	*colon = '\0';
	if (*ret_v6) {
		if (colon == text || colon[-1] != ']')
			return false;
		colon[-1] = '\0';
		*ret_host = text + 1;
	}
	if (strcmp(text, "localhost") == 0)
		*ret_host = "127.0.0.1";
	return true;
}

int http_address_parse(const char *text, struct http_address *ret, struct sbx_error *err)
{
	char copy[80];
	const char *host, *port_text;
	in_port_t port;
	bool v6;

	*ret = (struct http_address){0};
	if (strncmp(text, "unix:", 5) == 0)
		return parse_unix(text + 5, ret, err);
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) < sizeof(copy) &&
	    split(copy, &host, &port_text, &v6) && parse_port(port_text, &port) &&
	    (v6 ? parse_v6(host, port, ret) : parse_v4(host, port, ret)))
		return 0;
	return sbx_fail(err, SBX_E_INVALID,
			"'%s' is no address to listen on: use 8080, 127.0.0.1:8080, [::1]:8080 or "
			"unix:/run/x.sock",
			text);
}

/* ---- listening ---- */

static bool is_same_node(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A socket that a killed server left behind is in the way of the next one. */
static int remove_stale(const struct http_address *address, struct sbx_error *err)
{
	const char *path = address->at.unix_socket.sun_path;
	auto_close int fd = -1;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : sbx_fail_errno(err, errno, "cannot stat '%s'", path);
	if (!S_ISSOCK(st.st_mode))
		return sbx_fail(err, SBX_E_INVALID,
				"'%s' is there and is no socket: choose another path", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot make a socket");
	if (connect(fd, &address->at.any, address->len) == 0 || errno == EAGAIN)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"another server listens on '%s': stop it or choose another path",
				path);
	if (errno != ECONNREFUSED)
		return sbx_fail_errno(err, errno, "cannot connect to '%s'", path);
	if (unlink(path) < 0)
		return sbx_fail_errno(err, errno, "cannot remove the stale socket '%s'", path);
	return 0;
}

static int set_options(const struct http_address *address, int fd, struct sbx_error *err)
{
	int on = 1;

	/*
	 * Linux gives the socket's file the mode that the descriptor has at bind(), so there is no
	 * moment at which others could connect, and no umask to change under other threads.
	 */
	if (address->is_unix)
		return fchmod(fd, 0600) < 0 ? sbx_fail_errno(err, errno, "cannot set a mode") : 0;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return sbx_fail_errno(err, errno, "cannot set up the socket");
	return 0;
}

/* What the kernel made of it: the port, or the file. */
static int look_back(struct http_address *address, int fd, struct sbx_error *err)
{
	if (address->is_unix)
		return lstat(address->at.unix_socket.sun_path, &address->node) < 0
			       ? sbx_fail_errno(err, errno, "cannot stat the socket")
			       : 0;
	address->len = sizeof(address->at);
	if (getsockname(fd, &address->at.any, &address->len) < 0)
		return sbx_fail_errno(err, errno, "cannot ask for the port");
	return 0;
}

int http_address_listen(struct http_address *address, int *ret_fd, struct sbx_error *err)
{
	auto_close int fd = -1;
	char url[160];
	int r = address->is_unix ? remove_stale(address, err) : 0;

	if (r < 0)
		return r;
	http_address_format(address, false, "", url, sizeof(url));
	fd = socket(address->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot make a socket for '%s'", url);
	r = set_options(address, fd, err);
	if (r < 0)
		return r;
	if (bind(fd, &address->at.any, address->len) < 0 || listen(fd, BACKLOG) < 0)
		return sbx_fail_errno(err, errno, "cannot listen on '%s'", url);
	r = look_back(address, fd, err);
	if (r < 0)
		return r;
	*ret_fd = take_fd(fd);
	return 0;
}

void http_address_leave(const struct http_address *address)
{
	const char *path = address->at.unix_socket.sun_path;
	struct stat st;

	if (address->is_unix && lstat(path, &st) == 0 && is_same_node(&st, &address->node))
		unlink(path);
}

void http_address_format(const struct http_address *address, bool tls, const char *path, char *ret,
			 size_t size)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)&address->at.storage;
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)&address->at.storage;
	const char *scheme = tls ? "https" : "http";
	char host[INET6_ADDRSTRLEN];

	if (address->is_unix) {
		snprintf(ret, size, "unix:%s", address->at.unix_socket.sun_path);
	} else if (address->at.any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &sin->sin_addr, host, sizeof(host));
		snprintf(ret, size, "%s://%s:%u%s", scheme, host, ntohs(sin->sin_port), path);
	} else {
		inet_ntop(AF_INET6, &sin6->sin6_addr, host, sizeof(host));
		snprintf(ret, size, "%s://[%s]:%u%s", scheme, host, ntohs(sin6->sin6_port), path);
	}
}
