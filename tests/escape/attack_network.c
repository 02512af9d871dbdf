/* SPDX-License-Identifier: MIT */
/* Ways out over sockets that may be made. */
#include "attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int call(const char *address, unsigned int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	inet_pton(AF_INET, address, &to.sin_addr);
	r = connect(fd, (struct sockaddr *)&to, sizeof(to));
	if (r == 0)
		return came_through("%s:%u answered", address, port);
	held("%s:%u: %s", address, port, strerror(errno));
	close(fd);
	return 0;
}

/* PORT of a listener on the host's loopback. */
static int host_loopback(char **args)
{
	unsigned int port = (unsigned int)atoi(args[0]);

	return call("127.0.0.1", port) | call("127.0.0.53", 53) | call("10.0.2.2", port) |
	       call("169.254.169.254", 80) | call("192.0.2.1", 80);
}

/* NAME of an abstract socket of the host. */
static int host_abstract(char **args)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = strlen(args[0]);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(to.sun_path + 1, args[0], len);
	return must_fail("the host's abstract socket",
			 connect(fd, (struct sockaddr *)&to,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)),
			 ECONNREFUSED);
}

static int only_loopback(char **args)
{
	struct if_nameindex *list = if_nameindex();
	int bad = 0;

	(void)args;
	for (struct if_nameindex *i = list; i != NULL && i->if_index != 0; i++)
		if (strcmp(i->if_name, "lo") != 0 && strncmp(i->if_name, "tunl", 4) != 0 &&
		    strncmp(i->if_name, "sit", 3) != 0)
			bad |= came_through("there is an interface %s", i->if_name);
	return bad;
}

const struct attack attacks_on_network[] = {
	{"host-loopback", host_loopback},
	{"host-abstract", host_abstract},
	{"only-loopback", only_loopback},
	{NULL, NULL},
};
