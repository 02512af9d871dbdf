/* SPDX-License-Identifier: MIT */
#include "cli/files.h"

#include "cli/trouble.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK ((size_t)64 << 10)

/* What a regular file says about itself spares growing; others begin with a chunk. */
static size_t first_capacity(int fd, size_t max)
{
	struct stat st;
	size_t size = CHUNK;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		size = (size_t)st.st_size + 1;
	return size < max ? size : max;
}

int file_read(int fd, const char *name, size_t max, char **ret, size_t *ret_len,
	      struct sbx_error *err)
{
	size_t capacity = first_capacity(fd, max), len = 0;
	auto_free char *data = malloc(capacity + 1);
	ssize_t n = 1;

	while (data != NULL && n != 0 && len < max) {
		if (len == capacity) {
			char *grown;

			capacity = capacity * 2 < max ? capacity * 2 : max;
			grown = realloc(data, capacity + 1);
			if (grown == NULL)
				break;
			data = grown;
		}
		n = read(fd, data + len, capacity - len);
		if (n < 0 && errno != EINTR)
			return cli_fail(err, SBX_E_INVALID, "cannot read '%s': %s", name,
					strerror(errno));
		len += n > 0 ? (size_t)n : 0;
	}
	if (data == NULL || (n != 0 && len < max))
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	data[len] = '\0';
	*ret = data;
	*ret_len = len;
	data = NULL;
	return 0;
}

int file_write(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd pfd = {.fd = fd, .events = POLLOUT};

			poll(&pfd, 1, -1);
		} else if (n < 0 && errno != EINTR) {
			return -errno;
		}
		p += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}
