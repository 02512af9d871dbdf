/* SPDX-License-Identifier: MIT */
#include "agent/pipes.h"

#include "agent/user.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static void close_all(int fds[AGENT_PROGRAM_FDS])
{
	for (int i = 0; i < AGENT_PROGRAM_FDS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

void agent_pipes_close_theirs(struct agent_pipes *p)
{
	close_all(p->theirs);
}

void agent_pipes_close_ours(struct agent_pipes *p)
{
	close_all(p->ours);
}

/* One pipe, stdin the other way round than the outputs. */
static int open_pipe(struct agent_pipes *p, int i)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	p->theirs[i] = fds[i == 0 ? 0 : 1];
	p->ours[i] = fds[i == 0 ? 1 : 0];
	return sbx_set_nonblock(p->ours[i], true);
}

static int open_control(struct agent_pipes *p)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	p->theirs[3] = fds[0];
	p->ours[3] = fds[1];
	return sbx_set_nonblock(p->ours[3], true);
}

int agent_pipes_open(struct agent_pipes *p, uint32_t flags, const struct agent_fence *fence)
{
	int r = 0;

	act_as_user(fence);
	*p = (struct agent_pipes){{-1, -1, -1, -1}, {-1, -1, -1, -1}};
	if (flags & WIRE_EXEC_STDIN)
		r = open_pipe(p, 0);
	else if ((p->theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
		r = -errno;
	for (int i = 1; i < 3 && r == 0; i++)
		r = open_pipe(p, i);
	if (r == 0 && flags & WIRE_EXEC_CONTROL)
		r = open_control(p);
	act_as_agent(fence);
	if (r < 0) {
		agent_pipes_close_theirs(p);
		agent_pipes_close_ours(p);
	}
	return r;
}
