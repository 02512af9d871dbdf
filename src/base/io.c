/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include "base/auto.h"
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Wait until fd can be written; 0 or -errno. */
static int wait_writable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

int sbx_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);
		int r = 0;

		if (n >= 0) {
			at += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			r = wait_writable(fd);
		} else if (errno != EINTR) {
			r = -errno;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

ssize_t sbx_read_full(int fd, void *data, size_t len)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, (char *)data + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int sbx_set_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

int sbx_read_stream(int fd, const char *name, size_t max, char **ret, size_t *ret_len,
		    struct sbx_error *err)
{
	auto_buf struct sbx_buf buf = SBX_BUF_INIT(max + 1);

	for (;;) {
		size_t room = max + 1 - buf.len < 65536 ? max + 1 - buf.len : 65536;
		char *at = sbx_buf_reserve(&buf, room);
		ssize_t n;

		if (at == NULL)
			return sbx_fail_errno(err, ENOMEM, "cannot read '%s'", name);
		n = sbx_read_full(fd, at, room);
		if (n < 0)
			return sbx_fail_errno(err, (int)-n, "cannot read '%s'", name);
		buf.len += (size_t)n;
		if (buf.len > max)
			return sbx_fail(err, SBX_E_LIMIT, "'%s' is larger than %zu bytes", name, max);
		if (n == 0)
			break;
	}
	*ret_len = buf.len;
	*ret = sbx_buf_take(&buf);
	if (*ret == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot read '%s'", name);
	return 0;
}

int sbx_read_file(int dirfd, const char *path, size_t max, char **ret, size_t *ret_len,
		  struct sbx_error *err)
{
	auto_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot open '%s'", path);
	if (fstat(fd, &st) < 0)
		return sbx_fail_errno(err, errno, "cannot stat '%s'", path);
	if (!S_ISREG(st.st_mode))
		return sbx_fail(err, SBX_E_INVALID, "'%s' is not a regular file", path);
	if ((size_t)st.st_size > max)
		return sbx_fail(err, SBX_E_LIMIT, "'%s' is larger than %zu bytes", path, max);
	return sbx_read_stream(fd, path, max, ret, ret_len, err);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

void sbx_remove_tree(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

int sbx_write_control(int dirfd, const char *path, const char *text)
{
	auto_close int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);

	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len)
		return -errno;
	return 0;
}
