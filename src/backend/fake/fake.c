/* SPDX-License-Identifier: MIT */
/*
 * The agent as a plain child process with no isolation at all, for tests of what stands above
 * the backends. Never installed.
 *
 * The end of the stream is what ends a place: the agent then kills its whole tree, which would
 * live on if the agent alone were killed.
 */
#include "backend/ops.h"
#include "base/auto.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define AGENT_STREAM_FD 3

struct fake_place {
	struct sbx_place base;
	pid_t pid;	  /* of the agent, or -1 */
	char workdir[32]; /* or "" */
};

static struct fake_place *fake(const struct sbx_place *place)
{
	return (struct fake_place *)place;
}

/* ---- end ---- */

static void fake_kill(struct sbx_place *place)
{
	shutdown(place->stream_fd, SHUT_RDWR);
}

/* Takes what fake_open() made of it, all or a part. */
static void fake_close(struct sbx_place *place)
{
	struct fake_place *p = fake(place);

	if (place->stream_fd >= 0)
		close(place->stream_fd);
	while (p->pid > 0 && waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (p->workdir[0] != '\0')
		sbx_remove_tree(p->workdir);
	free(p);
}

/* ---- start ---- */

/* A test may put another program in the agent's place. */
static const char *agent_path(void)
{
	const char *path = getenv("SBX_FAKE_AGENT");

	return path != NULL ? path : SBX_FAKE_AGENT;
}

static _Noreturn void child_main(int stream_fd, pid_t parent)
{
	char *argv[] = {(char *)"llm-sandbox-agent", NULL};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* dup2() to itself would leave it close-on-exec. */
	if (stream_fd == AGENT_STREAM_FD)
		fcntl(stream_fd, F_SETFD, 0);
	else if (dup2(stream_fd, AGENT_STREAM_FD) < 0)
		_exit(127);
	if (getppid() == parent)
		execv(agent_path(), argv);
	_exit(127);
}

static int make_workdir(struct fake_place *p, struct sbx_error *err)
{
	char path[] = "/tmp/sbx-fake-XXXXXX";

	if (mkdtemp(path) == NULL)
		return sbx_fail_errno(err, errno, "cannot make the folder '%s'", path);
	strcpy(p->workdir, path);
	return 0;
}

static int start_agent(struct fake_place *p, struct sbx_error *err)
{
	auto_close int agent_fd = -1;
	pid_t self = getpid();
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return sbx_fail_errno(err, errno, "cannot make a stream to the agent");
	p->base.stream_fd = fds[0];
	agent_fd = fds[1];
	p->pid = fork();
	if (p->pid == 0)
		child_main(agent_fd, self);
	if (p->pid < 0)
		return sbx_fail_errno(err, errno, "cannot start the agent");
	return 0;
}

static int fake_open(const struct sbx_spec *spec, struct sbx_place **ret, struct sbx_error *err)
{
	struct fake_place *p = calloc(1, sizeof(*p));
	int r;

	(void)spec;
	if (p == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot make a fake sandbox");
	p->base = (struct sbx_place){.backend = &sbx_backend_fake, .stream_fd = -1};
	p->pid = -1;
	r = make_workdir(p, err);
	if (r == 0)
		r = start_agent(p, err);
	if (r < 0)
		fake_close(&p->base);
	else
		*ret = &p->base;
	return r;
}

/* ---- what it says of itself ---- */

static int fake_setup(const struct sbx_place *place, struct wire_setup *ret, struct sbx_error *err)
{
	char *workdir = strdup(fake(place)->workdir);

	if (workdir == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot set the fake sandbox up");
	*ret = (struct wire_setup){
		.fences = 1u << WIRE_FENCE_RLIMIT | 1u << WIRE_FENCE_NO_NEW_PRIVS,
		.uid = geteuid(),
		.gid = getegid(),
		.workdir = workdir,
	};
	return 0;
}

static int fake_failure(struct sbx_place *place, struct sbx_error *err)
{
	if (access(agent_path(), X_OK) == 0)
		return 0;
	(void)place;
	return sbx_fail_errno(err, errno, "cannot execute '%s'", agent_path());
}

static void fake_usage(struct sbx_place *place, struct sbx_place_usage *ret)
{
	(void)place, (void)ret;
}

static void fake_usage_reset(struct sbx_place *place)
{
	(void)place;
}

static void fake_report(const struct sbx_place *place, const struct wire_surroundings *found,
			struct sbx_report *report)
{
	(void)place, (void)found;
	sbx_report_add(report, "everything", SBX_OFF, "the fake backend isolates nothing");
}

static int fake_print_plan(const struct sbx_spec *spec, struct sbx_buf *out, struct sbx_error *err)
{
	(void)spec, (void)err;
	sbx_buf_puts(out, "make an empty folder below /tmp\n"
			  "start " SBX_FAKE_AGENT " as a child, with nothing to keep it in\n");
	return 0;
}

const struct sbx_backend sbx_backend_fake = {
	.name = "fake",
	.no_mounts = true,
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
