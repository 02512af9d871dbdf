/* SPDX-License-Identifier: MIT */
#include "base/splice.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static ssize_t move(int from, off_t *offset, int to, size_t len)
{
	ssize_t n;

	do
		n = splice(from, offset, to, NULL, len, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t sbx_splice_in(int from, int to, size_t len)
{
	return move(from, NULL, to, len);
}

ssize_t sbx_splice_file(int file, uint64_t offset, int to, size_t len)
{
	off_t at = (off_t)offset;

	return move(file, &at, to, len);
}

/* The signal was not there before, so it is ours to forget. */
static void forget_sigpipe(const sigset_t *sigpipe)
{
	const struct timespec now = {0};

	while (sigtimedwait(sigpipe, NULL, &now) < 0 && errno == EINTR)
		;
}

ssize_t sbx_splice_out(int from, int to, size_t len)
{
	sigset_t sigpipe, before, pending;
	ssize_t n;

	sigemptyset(&sigpipe);
	sigaddset(&sigpipe, SIGPIPE);
	sigprocmask(SIG_BLOCK, &sigpipe, &before);
	n = sbx_splice_in(from, to, len);
	/* Some may have gone out before the rest met the end. */
	if (n < (ssize_t)len && !sigismember(&before, SIGPIPE) && sigpending(&pending) == 0 &&
	    sigismember(&pending, SIGPIPE))
		forget_sigpipe(&sigpipe);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return n;
}

void sbx_splice_discard(int pipe, size_t len)
{
	char piece[4096];
	ssize_t n = 1;

	for (; len > 0 && (n > 0 || errno == EINTR); len -= n > 0 ? (size_t)n : 0)
		n = read(pipe, piece, len < sizeof(piece) ? len : sizeof(piece));
}

int sbx_splice_pipe(int ret[2], int room)
{
	if (pipe2(ret, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	fcntl(ret[1], F_SETPIPE_SZ, room);
	return 0;
}
