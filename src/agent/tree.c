/* SPDX-License-Identifier: MIT */
#include "agent/tree.h"

#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK_SIZE 512 /* unit of ru_inblock and ru_oublock, getrusage(2) */

void agent_tree_adopt(void)
{
	if (getpid() != 1)
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void agent_tree_init(struct agent_tree *t, pid_t program)
{
	*t = (struct agent_tree){.program = program};
}

static uint64_t micros(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static void account(struct agent_tree *t, pid_t pid, int status, const struct rusage *usage)
{
	uint64_t rss = (uint64_t)usage->ru_maxrss * 1024;

	t->user_us += micros(usage->ru_utime);
	t->system_us += micros(usage->ru_stime);
	t->read_bytes += (uint64_t)usage->ru_inblock * BLOCK_SIZE;
	t->write_bytes += (uint64_t)usage->ru_oublock * BLOCK_SIZE;
	if (rss > t->max_rss_bytes)
		t->max_rss_bytes = rss;
	if (pid != t->program || t->program_ended)
		return;
	t->program_ended = true;
	t->program_status = status;
	t->program_cpu_us = micros(usage->ru_utime) + micros(usage->ru_stime);
}

/* Reap one: its pid, 0 when none has died (WNOHANG), -1 when there are none. */
static pid_t reap_one(struct agent_tree *t, int options, int *ret_status)
{
	struct rusage usage;
	pid_t pid;

	do
		pid = wait4(-1, ret_status, options | __WALL, &usage);
	while (pid < 0 && errno == EINTR);
	if (pid > 0)
		account(t, pid, *ret_status, &usage);
	return pid;
}

void agent_tree_reap(struct agent_tree *t)
{
	int status;

	while (reap_one(t, WNOHANG, &status) > 0)
		;
}

/* kill() for each pid in /proc/thread-self/children, which the agent's one thread all has. */
static void kill_children(const struct agent_tree *t)
{
	auto_close int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	auto_free char *line = NULL;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	int pid;

	if (f == NULL) {
		if (t->program > 0 && !t->program_ended)
			kill(t->program, SIGKILL);
		return;
	}
	fd = -1;
	while (fscanf(f, "%d", &pid) == 1)
		kill(pid, SIGKILL);
	fclose(f);
}

static void kill_all(const struct agent_tree *t)
{
	if (getpid() == 1)
		kill(-1, SIGKILL);
	else
		kill_children(t);
}

/* Who ended before we first killed had ended by itself; of the rest we count all but the program. */
static bool was_killed(const struct agent_tree *t, pid_t pid, int status)
{
	return pid != t->program && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

void agent_tree_end(struct agent_tree *t)
{
	int status;
	pid_t pid;

	agent_tree_reap(t);
	do {
		kill_all(t);
		pid = reap_one(t, 0, &status);
		if (pid > 0)
			t->killed += was_killed(t, pid, status);
	} while (pid > 0);
}
