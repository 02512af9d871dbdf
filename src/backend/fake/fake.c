/* SPDX-License-Identifier: MIT */
/*
 * The agent as a plain child process with no isolation at all, for tests of what stands above
 * the backends. Never installed.
 */
#include "backend/ops.h"
#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct fake_place {
	struct sbx_place base;
	pid_t pid;
	char workdir[32];
};

_Noreturn static void child_main(int stream_fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(stream_fd, 3) == 3)
		execl(SBX_FAKE_AGENT, SBX_FAKE_AGENT, NULL);
	_exit(127);
}

static int fake_open(const struct sbx_spec *spec, struct sbx_place **ret, struct sbx_error *err)
{
	struct fake_place *p = calloc(1, sizeof(*p));
	int fds[2];

	(void)spec;
	if (p == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot make a fake sandbox");
	strcpy(p->workdir, "/tmp/sbx-fake-XXXXXX");
	if (mkdtemp(p->workdir) == NULL ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
		free(p);
		return sbx_fail_errno(err, errno, "cannot make a fake sandbox");
	}
	p->pid = fork();
	if (p->pid == 0)
		child_main(fds[1]);
	close(fds[1]);
	p->base = (struct sbx_place){.backend = &sbx_backend_fake, .stream_fd = fds[0]};
	*ret = &p->base;
	return 0;
}

static int fake_setup(const struct sbx_place *place, struct wire_setup *ret, struct sbx_error *err)
{
	const struct fake_place *p = (const struct fake_place *)place;

	(void)err;
	*ret = (struct wire_setup){
		.fences = 1u << WIRE_FENCE_RLIMIT,
		.uid = geteuid(),
		.gid = getegid(),
		.workdir = strdup(p->workdir),
	};
	return 0;
}

static int fake_failure(struct sbx_place *place, struct sbx_error *err)
{
	(void)place, (void)err;
	return 0;
}

static void fake_usage(struct sbx_place *place, struct sbx_place_usage *ret)
{
	(void)place, (void)ret;
}

static void fake_usage_reset(struct sbx_place *place)
{
	(void)place;
}

static void fake_report(const struct sbx_place *place, struct sbx_report *report)
{
	(void)place;
	sbx_report_add(report, "everything", SBX_OFF, "the fake backend isolates nothing");
}

static void fake_kill(struct sbx_place *place)
{
	kill(((struct fake_place *)place)->pid, SIGKILL);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

/* The end of the stream makes the agent end its tree, which SIGKILL would leave behind. */
static void fake_close(struct sbx_place *place)
{
	struct fake_place *p = (struct fake_place *)place;

	close(place->stream_fd);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	nftw(p->workdir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	free(p);
}

static int fake_print_plan(const struct sbx_spec *spec, struct sbx_buf *out, struct sbx_error *err)
{
	(void)spec, (void)err;
	sbx_buf_puts(out, "start the agent as a child\n");
	return 0;
}

const struct sbx_backend sbx_backend_fake = {
	.name = "fake",
	.print_plan = fake_print_plan,
	.open = fake_open,
	.setup = fake_setup,
	.failure = fake_failure,
	.usage = fake_usage,
	.usage_reset = fake_usage_reset,
	.report = fake_report,
	.kill = fake_kill,
	.close = fake_close,
};
