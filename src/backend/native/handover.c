/* SPDX-License-Identifier: MIT */
#include "backend/native/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for a control message with all descriptors, aligned as the kernel wants it. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(HANDOVER_FDS_MAX * sizeof(int))];
};

int handover_open(int ret[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0 ? -errno : 0;
}

int handover_send(int fd, const void *note, size_t len, const int *fds, size_t count)
{
	struct iovec part = {.iov_base = (void *)note, .iov_len = len};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union control control;

	if (count > HANDOVER_FDS_MAX)
		return -EINVAL;
	if (count > 0) {
		memset(&control, 0, sizeof(control));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The descriptors of a message, moved up; -errno when one could not be. */
static int take_fds(struct msghdr *message, int ret_fds[HANDOVER_FDS_MAX])
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	size_t count;
	int r = 0;

	if (header == NULL)
		return 0;
	count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(ret_fds, CMSG_DATA(header), count * sizeof(int));
	for (size_t i = 0; i < count && r == 0; i++)
		r = handover_raise(&ret_fds[i]);
	return r < 0 ? r : (int)count;
}

int handover_receive(int fd, void *ret_note, size_t len, int ret_fds[HANDOVER_FDS_MAX])
{
	struct iovec part = {.iov_base = ret_note, .iov_len = len};
	union control control;
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	do {
		n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if ((size_t)n != len || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		return -EPIPE;
	return take_fds(&message, ret_fds);
}

int handover_raise(int *fd)
{
	int high;

	if (*fd >= HANDOVER_FD_LOW)
		return 0;
	high = fcntl(*fd, F_DUPFD_CLOEXEC, HANDOVER_FD_LOW);
	if (high < 0)
		return -errno;
	close(*fd);
	*fd = high;
	return 0;
}
