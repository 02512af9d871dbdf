/* SPDX-License-Identifier: MIT */
/*
 * How a client starts the holder: a child of a child, in a session of its own, that has nothing
 * of ours but one end of a pipe. It is our own program once more and not a fork that goes on,
 * so that it begins without our heap, handlers and descriptors.
 */
#include "cli/holder.h"

#include "cli/runtime.h"
#include "cli/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_FD 3     /* of the holder: where it says that clients may come */
#define READY_MS 20000 /* for how long it is waited for */

/* ---- between fork and exec ---- */

static void child_forget_signals(void)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		sigaction(number, &standard, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool child_take_descriptors(int ready_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* Out of the way of the numbers that we want. */
	ready_fd = fcntl(ready_fd, F_DUPFD_CLOEXEC, 10);
	if (null < 0 || ready_fd < 0 || dup2(ready_fd, READY_FD) != READY_FD ||
	    (null != 0 && dup2(null, 0) != 0) || dup2(null, 1) != 1 || dup2(null, 2) != 2)
		return false;
	/* Before Linux 5.9 only those of ours are closed, by exec. */
	close_range(READY_FD + 1, ~0u, 0);
	return true;
}

static void child_be_holder(int ready_fd, const char *idle)
{
	char *argv[] = {(char *)"llm-sandbox", (char *)"holder", (char *)"--holder-idle",
			(char *)idle, NULL};

	setsid();
	if (fork() != 0)
		_exit(0);
	child_forget_signals();
	if (chdir("/") == 0 && child_take_descriptors(ready_fd))
		execv("/proc/self/exe", argv);
	_exit(127);
}

/* ---- in the client ---- */

static int fork_holder(int ready_fd, uint64_t idle_ms, struct sbx_error *err)
{
	char idle[32];
	pid_t pid;

	snprintf(idle, sizeof(idle), "%llums", (unsigned long long)idle_ms);
	pid = fork();
	if (pid < 0)
		return cli_fail(err, SBX_E_SYSTEM, "cannot start the holder of the sessions: %s",
				strerror(errno));
	if (pid == 0)
		child_be_holder(ready_fd, idle);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

/* One byte 0 when all is well; else its last words, or nothing. */
static int await_ready(int fd, struct sbx_error *err)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	char words[400];
	ssize_t n;

	if (poll(&pfd, 1, READY_MS) <= 0)
		return cli_fail(err, SBX_E_TIMEOUT,
				"the holder of the sessions did not start within %d seconds",
				READY_MS / 1000);
	n = read(fd, words, sizeof(words) - 1);
	if (n >= 1 && words[0] == '\0')
		return 0;
	words[n > 0 ? n : 0] = '\0';
	return cli_fail(err, SBX_E_UNAVAILABLE, "the holder of the sessions did not start%s%s",
			n > 0 ? ": " : "", words);
}

static int start(uint64_t idle_ms, struct sbx_error *err)
{
	int fds[2], r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return cli_fail(err, SBX_E_SYSTEM, "cannot make a pipe: %s", strerror(errno));
	r = fork_holder(fds[1], idle_ms, err);
	close(fds[1]);
	if (r == 0)
		r = await_ready(fds[0], err);
	close(fds[0]);
	return r;
}

/* Whether somebody answers there; two that start at once start one holder. */
static bool is_there(int folder_fd)
{
	int sock = runtime_connect(folder_fd);

	if (sock >= 0)
		close(sock);
	return sock >= 0;
}

int holder_start(uint64_t idle_ms, struct sbx_error *err)
{
	int folder_fd, lock_fd, r = runtime_open(true, &folder_fd, err);

	if (r < 0)
		return r;
	lock_fd = runtime_lock(folder_fd, "start.lock", true);
	if (lock_fd < 0)
		r = cli_fail(err, SBX_E_SYSTEM, "cannot lock the runtime folder: %s",
			     strerror(-lock_fd));
	else if (!is_there(folder_fd))
		r = start(idle_ms, err);
	/* One that was about to end and thought better of it keeps ours from starting. */
	if (r < 0 && lock_fd >= 0 && is_there(folder_fd))
		r = 0;
	if (lock_fd >= 0)
		close(lock_fd);
	close(folder_fd);
	return r;
}
