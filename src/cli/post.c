/* SPDX-License-Identifier: MIT */
#include "cli/post.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Aligned as the macros of cmsg(3) want it. */
union control {
	char space[CMSG_SPACE(POST_FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

static void attach(struct msghdr *msg, union control *control, const int *fds, size_t count)
{
	struct cmsghdr *c;

	if (count == 0)
		return;
	memset(control, 0, sizeof(*control));
	msg->msg_control = control->space;
	msg->msg_controllen = CMSG_SPACE(count * sizeof(int));
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(c), fds, count * sizeof(int));
}

int post_send(int sock, const struct post_out *out, int wait_ms)
{
	char first = (char)out->type;
	struct iovec parts[2] = {{&first, 1}, {(void *)out->payload, out->len}};
	struct msghdr msg = {.msg_iov = parts, .msg_iovlen = out->len > 0 ? 2 : 1};
	union control control;

	attach(&msg, &control, out->fds, out->fd_count);
	while (sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		struct pollfd pfd = {.fd = sock, .events = POLLOUT};

		if (errno == EAGAIN && poll(&pfd, 1, wait_ms) == 0)
			return -EAGAIN;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return 0;
}

static void detach(struct msghdr *msg, struct post *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(ret->fds, CMSG_DATA(c), count * sizeof(int));
		ret->fd_count = count;
	}
}

static bool is_known(int type)
{
	return type != '\0' && strchr("RIKOEPA", type) != NULL;
}

/*
 * A peer that went without having read all of ours is an error of the socket first, and what it
 * had sent before comes after that; at the end of it comes the end. See unix(7) and SO_ERROR.
 */
static ssize_t receive(int sock, struct msghdr *msg)
{
	bool reset = false;
	ssize_t n;

	for (;;) {
		n = recvmsg(sock, msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (n >= 0 || (errno != EINTR && (errno != ECONNRESET || reset)))
			return n;
		reset |= errno == ECONNRESET;
	}
}

int post_receive(int sock, struct post *ret)
{
	char first = '\0';
	struct iovec parts[2] = {{&first, 1}, {ret->payload, POST_PAYLOAD_MAX}};
	union control control;
	struct msghdr msg = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t n;

	ret->fd_count = 0;
	n = receive(sock, &msg);
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	detach(&msg, ret);
	if (n == 0 && ret->fd_count == 0)
		return 0;
	if (n == 0 || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || !is_known(first)) {
		post_done(ret);
		return -EBADMSG;
	}
	ret->type = (enum post_type)first;
	ret->len = (size_t)n - 1;
	ret->payload[ret->len] = '\0';
	return 1;
}

void post_done(struct post *post)
{
	for (size_t i = 0; i < post->fd_count; i++) {
		if (post->fds[i] >= 0)
			close(post->fds[i]);
	}
	post->fd_count = 0;
}
