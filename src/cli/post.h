/* SPDX-License-Identifier: MIT */
/*
 * Messages between the command line and the holder of its sessions, over a Unix socket that
 * keeps their boundaries (SOCK_SEQPACKET, unix(7)): one byte that says what it is, a payload,
 * and descriptors. A connection is one request: the client sends REQUEST and perhaps INTERRUPT
 * and KILL; the holder sends output and progress as they come and ANSWER at the end. Hanging up
 * before the answer cancels the request.
 *
 * What has no bound that fits a message travels in files in memory, see paper.h.
 */
#pragma once

#include <stddef.h>

#define POST_PAYLOAD_MAX ((size_t)32 << 10)
#define POST_FDS_MAX	 4

enum post_type {
	POST_REQUEST = 'R',   /* fds: the request's paper, and what the request needs */
	POST_INTERRUPT = 'I', /* as Ctrl-C */
	POST_KILL = 'K',
	POST_STDOUT = 'O', /* payload: bytes */
	POST_STDERR = 'E',
	POST_PROGRESS = 'P', /* payload: struct post_progress and a path without its NUL */
	POST_ANSWER = 'A',   /* fds: the answer's paper, and data where the answer has some */
};

struct post_progress {
	unsigned long long done, total;
};

struct post {
	enum post_type type;
	size_t len;
	int fds[POST_FDS_MAX];
	size_t fd_count;
	char payload[POST_PAYLOAD_MAX + 1]; /* with a NUL behind len bytes */
};

/* What is to be sent; fds stay the caller's. */
struct post_out {
	enum post_type type;
	const void *payload;
	size_t len;
	const int *fds;
	size_t fd_count;
};

/*
 * Send one; waits while the peer does not read, for about wait_ms (-1: as long as it takes). 0 or
 * -errno: -EPIPE when it hung up, -EAGAIN when it still does not read.
 */
int post_send(int sock, const struct post_out *out, int wait_ms);

/*
 * Take one without waiting: 1, 0 at the end, -EAGAIN when there is none, -EBADMSG for what is no
 * message of ours. After 1 the descriptors are the caller's: post_done(), or take them out.
 */
int post_receive(int sock, struct post *ret);

/* Close the descriptors that are still in it. */
void post_done(struct post *post);
