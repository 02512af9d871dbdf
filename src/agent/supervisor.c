/* SPDX-License-Identifier: MIT */
#include "agent/supervisor.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What it tells first … */
struct start_word {
	pid_t program; /* or 0: it was not started, err says why */
	struct sbx_error err;
};

/* … and when the program has ended. */
struct end_word {
	int status; /* as wait4() gives it */
	uint64_t cpu_us;
	struct agent_cost cost; /* of all that it reaped so far */
};

/* ---- the supervisor itself ---- */

/* All but 0, 1, 2, 3 of the program-to-be, which are the agent's own still, and the pipe. */
static void close_others(const struct agent_spawn *s, int fd)
{
	int keep[] = {s->fds[0], s->fds[1], s->fds[2], s->fds[3], s->fence->landlock_fd, fd};
	int last = 2;

	for (;;) {
		int next = -1;

		for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++) {
			if (keep[i] > last && (next < 0 || keep[i] < next))
				next = keep[i];
		}
		if (next < 0)
			break;
		if (next > last + 1)
			syscall(SYS_close_range, (unsigned int)last + 1, (unsigned int)next - 1, 0U);
		last = next;
	}
	syscall(SYS_close_range, (unsigned int)last + 1, ~0U, 0U);
}

static void tell(int fd, const void *word, size_t len)
{
	if (sbx_write_all(fd, word, len) < 0)
		_exit(1);
}

/* Reap until the program has ended, and tell; later orphans are reaped and not counted. */
static _Noreturn void watch(int fd, pid_t program)
{
	struct end_word word = {0};
	struct rusage usage;
	int status;
	pid_t pid;

	for (;;) {
		pid = wait4(-1, &status, __WALL, &usage);
		if (pid < 0 && errno == ECHILD)
			pause();
		if (pid < 0)
			continue;
		agent_cost_add(&word.cost, &usage);
		if (pid != program)
			continue;
		word.status = status;
		word.cpu_us = agent_cpu_us(&usage);
		tell(fd, &word, sizeof(word));
		program = -1;
	}
}

static _Noreturn void supervise(const struct agent_spawn *s, int fd, pid_t agent)
{
	struct start_word word = {0};
	sigset_t none;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	/* As PID 1 the agent takes all with it. */
	if (agent != 1) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (getppid() != agent)
			_exit(1);
	}
	close_others(s, fd);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (agent_spawn(s, &word.program, &word.err) < 0)
		word.program = 0;
	for (int i = 0; i < AGENT_PROGRAM_FDS; i++) {
		if (s->fds[i] >= 0)
			close(s->fds[i]);
	}
	tell(fd, &word, sizeof(word));
	if (word.program == 0)
		_exit(0);
	watch(fd, word.program);
}

/* ---- the agent's side ---- */

static int find_place(const struct agent_supervisors *all)
{
	for (int i = 0; i < WIRE_BACKGROUND_MAX; i++) {
		if (all->pids[i] == 0)
			return i;
	}
	return -1;
}

/* What it tells first; a supervisor that cannot start its program is gone afterwards. */
static int hear_start(const struct supervisor *s, pid_t *ret_program, struct sbx_error *err)
{
	struct start_word word;
	ssize_t n = sbx_read_full(s->fd, &word, sizeof(word));

	if (n == (ssize_t)sizeof(word) && word.program > 0) {
		*ret_program = word.program;
		return 0;
	}
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	if (n != (ssize_t)sizeof(word))
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the program's supervisor did not start");
	*err = word.err;
	return -(int)err->code;
}

int supervisor_start(struct supervisor *ret, const struct agent_spawn *s,
		     struct agent_supervisors *all, struct agent_tree *tree, struct sbx_error *err)
{
	int place = find_place(all), fds[2], r;
	pid_t agent = getpid(), program = 0;

	if (place < 0)
		return sbx_fail(err, SBX_E_LIMIT, "%d programs run in the background already; end one",
				WIRE_BACKGROUND_MAX);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return sbx_fail_errno(err, errno, "cannot start '%s'", s->exec->argv[0]);
	ret->fd = fds[0];
	ret->pid = fork();
	if (ret->pid == 0)
		supervise(s, fds[1], agent);
	close(fds[1]);
	if (ret->pid < 0)
		r = sbx_fail_errno(err, errno, "cannot start '%s'", s->exec->argv[0]);
	else
		r = hear_start(ret, &program, err);
	if (r == 0 && (r = sbx_set_nonblock(ret->fd, true)) < 0)
		r = sbx_fail_errno(err, -r, "cannot start '%s'", s->exec->argv[0]);
	if (r < 0) {
		supervisor_done(ret);
		return r;
	}
	agent_tree_init(tree, all, program);
	tree->supervisor = all->pids[place] = ret->pid;
	return 0;
}

void supervisor_read(struct supervisor *s, struct agent_tree *tree)
{
	struct end_word word;
	ssize_t n = read(s->fd, &word, sizeof(word));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* Its end without a word: somebody inside has killed it, and so ended the program. */
	if (n != (ssize_t)sizeof(word))
		word = (struct end_word){.status = SIGKILL};
	supervisor_done(s);
	tree->program_ended = true;
	tree->program_status = word.status;
	tree->program_cpu_us = word.cpu_us;
	tree->cost = word.cost;
}

void supervisor_done(struct supervisor *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
