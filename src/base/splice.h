/* SPDX-License-Identifier: MIT */
/*
 * Bytes from one descriptor to another without a copy (splice(2)); one of them is a pipe.
 *
 * splice has no flag against SIGPIPE where a socket's other end is gone, and a library may not
 * decide for its program how that signal is handled: it is blocked and taken back here.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Into a pipe, and out of one into a socket: what moved, at most len, 0 at the end, or -errno
 * (-EAGAIN: nothing now). They never block where the socket is non-blocking.
 */
ssize_t sbx_splice_in(int from, int pipe, size_t len);
/* From a place of a file, whose own offset stays. */
ssize_t sbx_splice_file(int file, uint64_t offset, int pipe, size_t len);
ssize_t sbx_splice_out(int pipe, int to, size_t len);

/* Forget bytes that are in a pipe, so that nobody takes them for his. */
void sbx_splice_discard(int pipe, size_t len);

/* A pipe whose ends do not block, with room for so many bytes where the machine allows it. */
int sbx_splice_pipe(int ret[2], int room);
