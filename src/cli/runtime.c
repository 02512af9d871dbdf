/* SPDX-License-Identifier: MIT */
#include "cli/runtime.h"

#include "cli/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_NAME "holder.sock"
#define BACKLOG	    128

static bool folder_path(char ret[PATH_MAX])
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	int n;

	if (geteuid() == 0)
		n = snprintf(ret, PATH_MAX, "/run/llm-sandbox");
	else if (xdg != NULL && xdg[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/llm-sandbox", xdg);
	else
		n = snprintf(ret, PATH_MAX, "/tmp/llm-sandbox-%u", geteuid());
	return n > 0 && n < PATH_MAX;
}

int runtime_open(bool create, int *ret_fd, struct sbx_error *err)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	if (!folder_path(path))
		return cli_fail(err, SBX_E_INVALID, "XDG_RUNTIME_DIR is too long");
	if (create && mkdir(path, 0700) < 0 && errno != EEXIST)
		return cli_fail(err, SBX_E_SYSTEM, "cannot make the runtime folder '%s': %s", path,
				strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return cli_fail(err, errno == ENOENT ? SBX_E_NOT_FOUND : SBX_E_DENIED,
				"cannot open the runtime folder '%s': %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022) != 0) {
		close(fd);
		return cli_fail(err, SBX_E_DENIED,
				"the runtime folder '%s' can be written by somebody else; remove it",
				path);
	}
	*ret_fd = fd;
	return 0;
}

/* Through /proc the address is short, and follows no link but the kernel's own. */
static struct sockaddr_un socket_address(int folder_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" SOCKET_NAME,
		 folder_fd);
	return address;
}

bool runtime_is_ours(int sock)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       len == sizeof(peer) && peer.uid == geteuid();
}

int runtime_connect(int folder_fd)
{
	struct sockaddr_un address = socket_address(folder_fd);
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), r;

	if (sock < 0)
		return -errno;
	r = connect(sock, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	if (r == 0 && !runtime_is_ours(sock))
		r = -EPERM;
	if (r == 0)
		return sock;
	close(sock);
	return r;
}

int runtime_listen(int folder_fd, int *ret_fd, struct sbx_error *err)
{
	struct sockaddr_un address = socket_address(folder_fd);
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	runtime_unlisten(folder_fd);
	if (sock < 0 || bind(sock, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(sock, BACKLOG) < 0) {
		cli_fail(err, SBX_E_SYSTEM, "cannot make the socket of the sessions: %s",
			 strerror(errno));
		if (sock >= 0)
			close(sock);
		return -(int)err->code;
	}
	*ret_fd = sock;
	return 0;
}

void runtime_unlisten(int folder_fd)
{
	unlinkat(folder_fd, SOCKET_NAME, 0);
}

int runtime_lock(int folder_fd, const char *name, bool wait)
{
	int fd = openat(folder_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600), r;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) == 0)
		return fd;
	r = -errno;
	close(fd);
	return r;
}
