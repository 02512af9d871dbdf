/* SPDX-License-Identifier: MIT */
/* Other processes, and what this one has been given. */
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int peek(pid_t pid)
{
	char byte;
	struct iovec here = {&byte, 1}, there = {&byte, 1};
	int bad = 0;

	bad |= must_fail("ptrace attach", ptrace(PTRACE_ATTACH, pid, 0, 0), EPERM);
	bad |= must_fail("ptrace seize", ptrace(PTRACE_SEIZE, pid, 0, 0), EPERM);
	bad |= must_fail("reading its memory", process_vm_readv(pid, &here, 1, &there, 1, 0), EPERM);
	bad |= must_fail("writing its memory", process_vm_writev(pid, &here, 1, &there, 1, 0), EPERM);
	return bad;
}

static int debugging(char **args)
{
	pid_t child = fork();
	int bad;

	(void)args;
	if (child == 0) {
		pause();
		_exit(0);
	}
	bad = peek(1) | peek(child);
	bad |= must_fail("ptrace traceme", ptrace(PTRACE_TRACEME, 0, 0, 0), EPERM);
	bad |= must_fail("taking its descriptor",
			 syscall(438 /* pidfd_getfd */, syscall(SYS_pidfd_open, 1, 0), 0, 0), EPERM);
	kill(child, SIGKILL);
	return bad;
}

static int agent_through_proc(char **args)
{
	static const char *const secrets[] = {"mem", "environ", "maps", "fd/3", "root/etc/passwd",
					      "cwd/.", "exe", "fdinfo/3", "task/1/mem",
					      "map_files", "stack", "syscall", "auxv", "io"};
	static const char *const controls[] = {"mem", "oom_score_adj", "comm", "clear_refs",
					       "uid_map", "gid_map", "setgroups", "timerslack_ns"};
	char path[64], buf[256];
	int bad = 0;

	(void)args;
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		snprintf(path, sizeof(path), "/proc/1/%s", secrets[i]);
		bad |= must_be_denied(path, read_text(path, buf, sizeof(buf)));
	}
	for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++) {
		int fd;

		snprintf(path, sizeof(path), "/proc/1/%s", controls[i]);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		bad |= must_be_denied(path, fd < 0 ? -1 : write(fd, "0", 1));
	}
	bad |= must_be_denied("listing its descriptors", opendir("/proc/1/fd") == NULL ? -1 : 0);
	bad |= must_be_denied("its program", readlink("/proc/1/exe", buf, sizeof(buf)));
	return bad;
}

/* Whatever these do, the agent must live to report our exit. */
static int kill_everything(char **args)
{
	(void)args;
	for (int signo = 1; signo < 32; signo++)
		if (signo != SIGCHLD)
			kill(1, signo);
	kill(-1, SIGKILL);
	syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, 1, 0), SIGKILL, NULL, 0);
	syscall(SYS_tgkill, 1, 1, SIGKILL);
	return held("sent all signals to all");
}

static int signal_outside(char **args)
{
	return must_fail("a signal to a process of the host", kill((pid_t)atol(args[0]), 0), ESRCH);
}

static int descriptors(char **args)
{
	int bad = 0;

	(void)args;
	for (int fd = 3; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			bad |= came_through("descriptor %d is open", fd);
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			bad |= came_through("descriptor %d is closed", fd);
	return bad;
}

static int environment(char **args)
{
	int bad = 0;

	for (char **e = environ; *e != NULL; e++)
		if (strstr(*e, args[0]) != NULL)
			bad |= came_through("'%s' is in the environment", *e);
	return bad;
}

/* Lines of /proc/self/status that must be exactly so. */
static int status(char **args)
{
	static const char *const lines[] = {
		"CapInh:\t0000000000000000\n", "CapPrm:\t0000000000000000\n",
		"CapEff:\t0000000000000000\n", "CapBnd:\t0000000000000000\n",
		"CapAmb:\t0000000000000000\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n",
		"Uid:\t1000\t1000\t1000\t1000\n", "Gid:\t1000\t1000\t1000\t1000\n",
	};
	char text[8192];
	int bad = 0;

	(void)args;
	if (read_text("/proc/self/status", text, sizeof(text)) < 0)
		return came_through("cannot read /proc/self/status");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (strstr(text, lines[i]) == NULL)
			bad |= came_through("not so: %s", lines[i]);
	if (bad)
		fputs(text, stdout);
	return bad;
}

static int securebits(char **args)
{
	int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);

	(void)args;
	if ((bits & 0xc3) != 0xc3) /* NOROOT and NO_CAP_AMBIENT_RAISE, and their locks */
		return came_through("securebits are %#x", (unsigned int)bits);
	return held("securebits are %#x", (unsigned int)bits);
}

/* Where one id alone is mapped there is no 0 to become. */
static int has_root(void)
{
	FILE *map = fopen("/proc/self/uid_map", "re");
	unsigned int first = 1;

	if (map == NULL || fscanf(map, "%u", &first) != 1)
		first = 1;
	if (map != NULL)
		fclose(map);
	return first == 0;
}

static int become_root(char **args)
{
	int expected = has_root() ? EPERM : EINVAL, bad = 0;

	(void)args;
	bad |= must_fail("setuid 0", syscall(SYS_setuid, 0), expected);
	bad |= must_fail("setresuid 0", syscall(SYS_setresuid, 0, 0, 0), expected);
	bad |= must_fail("setgid 0", syscall(SYS_setresgid, 0, 0, 0), expected);
	bad |= must_fail("setgroups", syscall(SYS_setgroups, 0, NULL), EPERM);
	return bad;
}

static int copy_of_us(const char *path)
{
	static char bytes[1 << 16];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	long n;

	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)n) != n)
			return -1;
	close(from);
	return n == 0 ? close(to) : -1;
}

static int run_quietly(char *const argv[])
{
	int state;
	pid_t pid = fork();

	if (pid == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	waitpid(pid, &state, 0);
	return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

/* A set-user-id file, ours or the machine's, leaves the process what it was. */
static int setuid_files(char **args)
{
	static const char *const tools[] = {"/usr/bin/su", "/usr/bin/newuidmap", "/usr/bin/mount",
					    "/usr/bin/passwd", "/usr/bin/chsh"};
	char *status_argv[] = {(char *)"/tmp/setuid", (char *)"status", NULL};
	int bad = 0;

	(void)args;
	if (copy_of_us("/tmp/setuid") != 0)
		return came_through("cannot copy myself: %s", strerror(errno));
	chmod("/tmp/setuid", 06755);
	if (run_quietly(status_argv) != 0)
		bad |= came_through("a set-user-id copy of ours has another status");
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
		char *argv[] = {(char *)tools[i], (char *)"root", (char *)"-c", (char *)"id", NULL};

		if (run_quietly(argv) == 0)
			bad |= came_through("%s worked", tools[i]);
	}
	return bad;
}

/* Only processes of this sandbox have a number here: the agent, this one. */
static int lonely(char **args)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int bad = 0;

	(void)args;
	while (proc != NULL && (e = readdir(proc)) != NULL) {
		long pid = atol(e->d_name);

		if (pid > 1 && pid != getpid())
			bad |= came_through("process %ld is visible", pid);
	}
	return bad;
}

static int core_limit(char **args)
{
	struct rlimit limit;

	(void)args;
	getrlimit(RLIMIT_CORE, &limit);
	if (limit.rlim_cur != 0 || limit.rlim_max != 0)
		return came_through("the core limit is %lu", (unsigned long)limit.rlim_max);
	limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
	return must_fail("raising the core limit", setrlimit(RLIMIT_CORE, &limit), EPERM);
}

static _Noreturn int crash(char **args)
{
	(void)args;
	abort();
}

/* A process that leaves its parent, its session, its streams and its name, and stays. */
static void stay(int ready_fd)
{
	if (fork() != 0)
		_exit(0);
	setsid();
	if (fork() != 0)
		_exit(0);
	for (int signo = 1; signo < 32; signo++)
		signal(signo, SIG_IGN);
	prctl(PR_SET_NAME, "\033[2J) S 1 (\n", 0, 0, 0);
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	/* Ready when the process between is gone, so that it is not one of those that are killed. */
	while (getppid() != 1)
		sched_yield();
	if (write(ready_fd, "", 1) != 1)
		_exit(1);
	close(ready_fd);
	for (;;)
		pause();
}

static int daemons(char **args)
{
	int ready[2];
	char byte;

	(void)args;
	if (pipe(ready) != 0)
		return came_through("no pipe: %s", strerror(errno));
	for (int i = 0; i < 5; i++)
		if (fork() == 0)
			stay(ready[1]);
	for (int i = 0; i < 5; i++)
		if (wait(NULL) < 0 || read(ready[0], &byte, 1) != 1)
			return came_through("a daemon did not start: %s", strerror(errno));
	return held("five processes stay behind");
}

static _Noreturn int ignore_all(char **args)
{
	(void)args;
	for (int signo = 1; signo < 32; signo++)
		signal(signo, SIG_IGN);
	prctl(PR_SET_NAME, "\033]0;x\007\n) R 0", 0, 0, 0);
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	for (;;)
		pause();
}

/* Mark this sandbox's folders, and stay until killed. */
static int mark_and_wait(char **args)
{
	static const char *const folders[] = {"/tmp", "/sandbox", "/dev/shm", "/home/sandbox"};
	char path[256];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s", folders[i], args[0]);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
		if (fd < 0)
			return came_through("cannot make '%s': %s", path, strerror(errno));
		close(fd);
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

static int see_marks(char **args)
{
	static const char *const folders[] = {"/tmp", "/sandbox", "/dev/shm", "/home/sandbox"};
	char path[256];
	int bad = 0;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], args[0]);
		bad |= must_fail(path, access(path, F_OK), ENOENT);
	}
	return bad | lonely(args);
}

const struct attack attacks_on_processes[] = {
	{"debugging", debugging},
	{"agent-through-proc", agent_through_proc},
	{"kill-everything", kill_everything},
	{"signal-outside", signal_outside},
	{"descriptors", descriptors},
	{"environment", environment},
	{"status", status},
	{"securebits", securebits},
	{"become-root", become_root},
	{"setuid-files", setuid_files},
	{"lonely", lonely},
	{"core-limit", core_limit},
	{"crash", crash},
	{"daemons", daemons},
	{"ignore-all", ignore_all},
	{"mark-and-wait", mark_and_wait},
	{"see-marks", see_marks},
	{NULL, NULL},
};
