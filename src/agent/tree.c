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

void agent_tree_init(struct agent_tree *t, struct agent_supervisors *supervisors, pid_t program)
{
	*t = (struct agent_tree){.supervisors = supervisors, .program = program};
}

/* ---- what they cost ---- */

static uint64_t micros(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

uint64_t agent_cpu_us(const struct rusage *usage)
{
	return micros(usage->ru_utime) + micros(usage->ru_stime);
}

void agent_cost_add(struct agent_cost *cost, const struct rusage *usage)
{
	uint64_t rss = (uint64_t)usage->ru_maxrss * 1024;

	cost->user_us += micros(usage->ru_utime);
	cost->system_us += micros(usage->ru_stime);
	cost->read_bytes += (uint64_t)usage->ru_inblock * BLOCK_SIZE;
	cost->write_bytes += (uint64_t)usage->ru_oublock * BLOCK_SIZE;
	if (rss > cost->max_rss_bytes)
		cost->max_rss_bytes = rss;
}

/* ---- reaping ---- */

static bool is_supervisor(const struct agent_tree *t, pid_t pid)
{
	for (size_t i = 0; t->supervisors != NULL && i < WIRE_BACKGROUND_MAX; i++) {
		if (pid > 0 && t->supervisors->pids[i] == pid)
			return true;
	}
	return false;
}

static void account(struct agent_tree *t, pid_t pid, int status, const struct rusage *usage)
{
	if (is_supervisor(t, pid))
		return;
	agent_cost_add(&t->cost, usage);
	if (pid != t->program || t->program_ended)
		return;
	t->program_ended = true;
	t->program_status = status;
	t->program_cpu_us = agent_cpu_us(usage);
}

/* Reap one: its pid, 0 when none has died (WNOHANG), -1 when there are none. */
static pid_t reap_one(struct agent_tree *t, pid_t which, int options, int *ret_status)
{
	struct rusage usage;
	pid_t pid;

	do
		pid = wait4(which, ret_status, options | __WALL, &usage);
	while (pid < 0 && errno == EINTR);
	if (pid > 0)
		account(t, pid, *ret_status, &usage);
	return pid;
}

void agent_tree_reap(struct agent_tree *t)
{
	int status;

	while (reap_one(t, -1, WNOHANG, &status) > 0)
		;
}

/* ---- the agent's own children ---- */

struct pids {
	pid_t *list;
	size_t count;
};

/* From /proc/thread-self/children, which the agent's one thread all has; none without it. */
static struct pids read_children(void)
{
	auto_close int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	struct pids pids = {0};
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	int pid;

	if (f == NULL)
		return pids;
	fd = -1;
	while (fscanf(f, "%d", &pid) == 1) {
		pid_t *grown = realloc(pids.list, (pids.count + 1) * sizeof(*grown));

		if (grown == NULL)
			break;
		pids.list = grown;
		pids.list[pids.count++] = pid;
	}
	fclose(f);
	return pids;
}

static bool contains(const struct pids *pids, pid_t pid)
{
	for (size_t i = 0; i < pids->count; i++) {
		if (pids->list[i] == pid)
			return true;
	}
	return false;
}

/* ---- ending all ---- */

static void kill_children(const struct agent_tree *t)
{
	struct pids children = read_children();

	for (size_t i = 0; i < children.count; i++)
		kill(children.list[i], SIGKILL);
	if (children.count == 0 && t->program > 0 && !t->program_ended)
		kill(t->program, SIGKILL);
	free(children.list);
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
	return pid != t->program && !is_supervisor(t, pid) && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGKILL;
}

void agent_tree_end_all(struct agent_tree *t)
{
	int status;
	pid_t pid;

	agent_tree_reap(t);
	do {
		kill_all(t);
		pid = reap_one(t, -1, 0, &status);
		if (pid > 0)
			t->killed += was_killed(t, pid, status);
	} while (pid > 0);
}

/* ---- ending some, and leaving others alone ---- */

/*
 * While we look for what must go nobody may have children: a stopped process, and one that is
 * about to be, makes none (fork(2) fails with a signal pending and is tried again).
 */
static void freeze(int signo)
{
	if (getpid() == 1)
		kill(-1, signo);
}

/* Kill and reap one child. */
static void end_child(struct agent_tree *t, pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	if (reap_one(t, pid, 0, &status) == pid)
		t->killed += was_killed(t, pid, status);
}

/* Kill all children that keep() does not keep, those that they leave to us too, until none is. */
static void end_children(struct agent_tree *t, const struct pids *kept)
{
	size_t ended;

	do {
		struct pids children = read_children();

		ended = 0;
		for (size_t i = 0; i < children.count; i++) {
			pid_t pid = children.list[i];

			if (kept != NULL ? contains(kept, pid) : is_supervisor(t, pid))
				continue;
			end_child(t, pid);
			ended++;
		}
		free(children.list);
	} while (ended > 0);
}

/* All but the supervisors and what is below them. */
static void end_foreground(struct agent_tree *t)
{
	freeze(SIGSTOP);
	end_children(t, NULL);
	freeze(SIGCONT);
}

static bool is_alive(pid_t child)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

/*
 * What comes to us when the supervisor is gone was below it. When somebody inside has killed it,
 * that came before, and is told from the foreground's orphans only when there can be none.
 */
static void end_background(struct agent_tree *t)
{
	struct pids kept;
	bool came_before;

	freeze(SIGSTOP);
	kept = read_children();
	came_before = !is_alive(t->supervisor);
	if (contains(&kept, t->supervisor))
		end_child(t, t->supervisor);
	end_children(t, came_before && !t->supervisors->front ? NULL : &kept);
	freeze(SIGCONT);
	free(kept.list);
	for (size_t i = 0; i < WIRE_BACKGROUND_MAX; i++) {
		if (t->supervisors->pids[i] == t->supervisor)
			t->supervisors->pids[i] = 0;
	}
	t->supervisor = 0;
}

static bool has_supervisors(const struct agent_tree *t)
{
	for (size_t i = 0; i < WIRE_BACKGROUND_MAX; i++) {
		if (t->supervisors->pids[i] != 0)
			return true;
	}
	return false;
}

void agent_tree_end(struct agent_tree *t)
{
	if (t->supervisor != 0) {
		end_background(t);
		return;
	}
	if (has_supervisors(t))
		end_foreground(t);
	else
		agent_tree_end_all(t);
	t->supervisors->front = false;
}
