/* SPDX-License-Identifier: MIT */
#include "agent/spawn.h"

#include "base/auto.h"
#include "base/io.h"
#include "base/strv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

/*
 * What the child works with, and where it leaves word of its failure. Volatile, because to the
 * compiler a function that ends in _exit() has nobody to leave word to.
 */
struct child {
	const struct agent_spawn *s;
	const char *path;  /* of the program's environment */
	char **shell_argv; /* two free places, then argv[1] …: for a script without "#!" */
	const char *volatile step; /* what failed; NULL: execve() itself */
	volatile int error;	   /* errno, or 0 */
};

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static const char *find_path(char *const *env)
{
	for (; *env != NULL; env++) {
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	}
	return DEFAULT_PATH;
}

static int child_place_fds(const int fds[AGENT_PROGRAM_FDS])
{
	unsigned int count = 0;

	for (int i = 0; i < AGENT_PROGRAM_FDS && fds[i] >= 0; i++, count++) {
		if (dup2(fds[i], i) < 0)
			return -errno;
	}
	/* All of the agent's are close-on-exec as they are; this is for those it does not know. */
	syscall(SYS_close_range, count, ~0U, CLOSE_RANGE_CLOEXEC);
	return 0;
}

static int child_limit_cpu(uint64_t cpu_ms)
{
	rlim_t seconds = (rlim_t)(cpu_ms / 1000 + (cpu_ms % 1000 != 0));
	/* SIGXCPU at the first, SIGKILL at the second. */
	struct rlimit limit = {.rlim_cur = seconds, .rlim_max = seconds + 1};

	if (cpu_ms == 0)
		return 0;
	return setrlimit(RLIMIT_CPU, &limit) < 0 ? -errno : 0;
}

static void child_reset_signals(void)
{
	sigset_t none;

	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int child_enter_folder(const struct agent_spawn *s)
{
	const char *cwd = s->exec->cwd;

	if (chdir(s->fence->setup->workdir) < 0)
		return -errno;
	return cwd[0] != '\0' && chdir(cwd) < 0 ? -errno : 0;
}

/* As execvpe(3) does: a file that is no program is a script of the shell. */
static int child_exec_file(struct child *c, const char *file)
{
	const struct wire_exec *exec = c->s->exec;

	execve(file, exec->argv, exec->env);
	if (errno != ENOEXEC)
		return errno;
	c->shell_argv[0] = (char *)"sh";
	c->shell_argv[1] = (char *)file;
	execve("/bin/sh", c->shell_argv, exec->env);
	return ENOEXEC;
}

/* Try every folder of PATH; a file that may not be executed hides none behind it. */
static int child_exec(struct child *c)
{
	const char *name = c->s->exec->argv[0], *at = c->path;
	char file[PATH_MAX];
	bool denied = false;

	if (name[0] == '\0')
		return ENOENT;
	if (strchr(name, '/') != NULL)
		return child_exec_file(c, name);
	for (;;) {
		size_t len = strcspn(at, ":");
		int n, error;

		n = len == 0 ? snprintf(file, sizeof(file), "./%s", name)
			     : snprintf(file, sizeof(file), "%.*s/%s", (int)len, at, name);
		error = n < (int)sizeof(file) ? child_exec_file(c, file) : ENOENT;
		denied = denied || error == EACCES;
		if (error != ENOENT && error != ENOTDIR && error != EACCES)
			return error;
		if (at[len] == '\0')
			return denied ? EACCES : ENOENT;
		at += len + 1;
	}
}

/* In order; the first step that fails is named in *ret_step. */
static int child_prepare(const struct agent_spawn *s, const char **ret_step)
{
	int r;

	setsid();
	umask(022);
	/* Memory running out must end the program and not the agent. It may be refused. */
	sbx_write_control(AT_FDCWD, "/proc/self/oom_score_adj", "1000");

	*ret_step = "place its descriptors";
	r = child_place_fds(s->fds);
	if (r < 0)
		return r;
	*ret_step = "limit its CPU time";
	r = child_limit_cpu(s->exec->cpu_ms);
	if (r < 0)
		return r;
	*ret_step = "fence it in";
	r = child_fence(s->fence, ret_step);
	if (r < 0)
		return r;
	*ret_step = "enter its folder";
	return child_enter_folder(s);
}

static _Noreturn void child_main(struct child *c)
{
	bool orphans_us = getppid() != 1;
	const char *step = NULL;
	int r = child_prepare(c->s, &step);

	c->step = step;
	if (r < 0) {
		c->error = -r;
		_exit(127);
	}
	/* As PID 1 the agent takes all with it; elsewhere this ends the program with it. */
	if (orphans_us)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	child_reset_signals();
	c->step = NULL;
	c->error = child_exec(c);
	_exit(127);
}

/* A function of its own: what lives in the caller's frame is safe from the child's return. */
static __attribute__((noinline)) pid_t start(struct child *c)
{
	pid_t pid = vfork();

	if (pid == 0)
		child_main(c);
	return pid;
}

static int fail_exec(const struct wire_exec *exec, int error, struct sbx_error *err)
{
	const char *name = exec->argv[0];

	if (error == ENOENT && strchr(name, '/') == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "no program '%s' in the sandbox's PATH", name);
	if (error == ENOENT)
		return sbx_fail(err, SBX_E_NOT_FOUND,
				"no program '%s' in the sandbox, or not what it needs to run", name);
	if (error == E2BIG)
		return sbx_fail(err, SBX_E_LIMIT,
				"arguments and environment of '%s' are larger than the kernel allows "
				"(128 KiB each, 2 MiB together)",
				name);
	if (error == ENOEXEC)
		return sbx_fail(err, SBX_E_INVALID,
				"'%s' is no program for this machine: it is for other processors, or damaged",
				name);
	return sbx_fail_errno(err, error, "cannot execute '%s'", name);
}

static int fail_child(const struct child *c, struct sbx_error *err)
{
	const struct wire_exec *exec = c->s->exec;

	if (c->step == NULL)
		return fail_exec(exec, c->error, err);
	if (strcmp(c->step, "enter its folder") == 0)
		return sbx_fail_errno(err, c->error, "cannot enter the folder '%s'",
				      exec->cwd[0] != '\0' ? exec->cwd : c->s->fence->setup->workdir);
	return sbx_fail_errno(err, c->error, "cannot start '%s': cannot %s", exec->argv[0], c->step);
}

int agent_spawn(const struct agent_spawn *s, pid_t *ret_pid, struct sbx_error *err)
{
	size_t count = sbx_strv_len(s->exec->argv);
	auto_free char **shell_argv = calloc(count + 2, sizeof(*shell_argv));
	struct child c = {
		.s = s, .path = find_path(s->exec->env), .shell_argv = shell_argv};
	pid_t pid;

	if (shell_argv == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot start '%s'", s->exec->argv[0]);
	memcpy(shell_argv + 2, s->exec->argv + 1, (count - 1) * sizeof(*shell_argv));

	pid = start(&c);
	if (pid < 0)
		return sbx_fail_errno(err, errno, "cannot start '%s'", s->exec->argv[0]);
	if (c.error != 0) {
		waitpid(pid, NULL, 0);
		return fail_child(&c, err);
	}
	*ret_pid = pid;
	return 0;
}
