/* SPDX-License-Identifier: MIT */
#include "backend/native/child.h"

#include "backend/native/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/mount.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct child {
	struct child_orders orders;
	int lock_fd, agent_fd;
	bool become_root;
	int taken[PLAN_TAKES_MAX]; /* the mounts, by their numbers; -1: not taken yet */
};

static int result(long r)
{
	return r < 0 ? -errno : 0;
}

/* ---- steps ---- */

static int child_take(struct child *c, const struct step *s)
{
	int *fd = &c->taken[s->number];

	if (*fd < 0)
		*fd = (int)syscall(SYS_open_tree, AT_FDCWD, s->source,
				   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE |
					   AT_SYMLINK_NOFOLLOW);
	return result(*fd);
}

static int child_set_flags(int dirfd, const char *path, unsigned int at_flags, uint64_t flags)
{
	struct mount_attr attr = {.attr_set = flags};

	return result(syscall(SYS_mount_setattr, dirfd, path, at_flags, &attr, sizeof(attr)));
}

static int child_attach(struct child *c, const struct step *s)
{
	int fd = c->taken[s->number];
	int r = child_set_flags(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, s->flags);

	if (r == 0)
		r = result(syscall(SYS_move_mount, fd, "", AT_FDCWD, s->target,
				   MOVE_MOUNT_F_EMPTY_PATH));
	close(fd);
	return r;
}

static int child_folder(const struct step *s)
{
	if (mkdir(s->target, s->mode) < 0)
		return errno == EEXIST ? 0 : -errno;
	/* mkdir() heeds the umask. */
	if (s->mode != 0755 && chmod(s->target, s->mode) < 0)
		return -errno;
	if ((s->uid != 0 || s->gid != 0) && chown(s->target, s->uid, s->gid) < 0)
		return -errno;
	return 0;
}

static int child_file(const struct step *s)
{
	size_t len = strlen(s->text);
	int fd, r;

	if (len == 0 && mknod(s->target, S_IFREG | s->mode, 0) == 0)
		return 0;
	fd = open(s->target, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, s->mode);
	if (fd < 0)
		return -errno;
	r = len > 0 && write(fd, s->text, len) != (ssize_t)len ? -errno : 0;
	close(fd);
	return r;
}

/* pivot_root(".", ".") stacks the old root on the new one, from where it is let go (pivot_root(2)). */
static int child_pivot(const struct step *s)
{
	if (chdir(s->target) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0)
		return -errno;
	return result(chdir("/"));
}

static int child_step(struct child *c, const struct step *s)
{
	const unsigned long kernel_fs = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	switch (s->kind) {
	case STEP_PRIVATE:
		return result(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	case STEP_TAKE:
		return child_take(c, s);
	case STEP_TMPFS:
		return result(mount("tmpfs", s->target, "tmpfs", MS_NOSUID | MS_NODEV, s->text));
	case STEP_FOLDER:
		return child_folder(s);
	case STEP_FILE:
		return child_file(s);
	case STEP_LINK:
		return result(symlink(s->source, s->target));
	case STEP_BIND:
		return result(mount(s->source, s->target, NULL, MS_BIND | MS_REC, NULL));
	case STEP_ATTACH:
		return child_attach(c, s);
	case STEP_SEAL:
		return child_set_flags(AT_FDCWD, s->target, AT_RECURSIVE, s->flags);
	case STEP_PROC:
		return result(mount("proc", s->target, "proc", kernel_fs, s->text));
	case STEP_DEVPTS:
		return result(mount("devpts", s->target, "devpts", MS_NOSUID | MS_NOEXEC, s->text));
	case STEP_HOSTNAME:
		return result(sethostname(s->text, strlen(s->text)));
	case STEP_PIVOT:
		return child_pivot(s);
	case STEP_KIND_COUNT:
		break;
	}
	return -EINVAL;
}

/* ---- before and after the plan ---- */

static int child_loopback(void)
{
	struct ifreq request = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	r = result(ioctl(fd, SIOCSIFFLAGS, &request));
	close(fd);
	return r;
}

/* Our one thread moves itself; see cgroup_open_doors(). */
static int child_enter_cgroup(const int *task_fds, int count)
{
	for (int i = 0; i < count; i++) {
		if (write(task_fds[i], "0", 1) != 1)
			return -errno;
	}
	return 0;
}

/* An exec takes every capability from a user that is not 0, but for ambient ones: the agent
 * needs one to empty the bounding set and to lock the securebits. */
static int child_keep_setpcap(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	data[0].inheritable |= 1u << CAP_SETPCAP;
	if (syscall(SYS_capset, &header, data) < 0 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SETPCAP, 0, 0) < 0)
		return -errno;
	return 0;
}

/* Take id 0 of the new namespace; the ids we came with are not mapped in it. */
static int child_become_root(const struct child *c)
{
	if (!c->become_root)
		return child_keep_setpcap();
	if (syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setgroups, 0, NULL) < 0 ||
	    syscall(SYS_setresuid, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

/* The parent's handlers are not ours (CLONE_CLEAR_SIGHAND); what it blocks is. */
static void child_unblock_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* 0, 1, 2: the sandbox's /dev/null; 3: the stream; 4: the lock; all else ends with the exec. */
static int child_place_fds(const struct child *c)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0)
		return -errno;
	if (syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return -errno;
	for (int fd = 0; fd < 3; fd++) {
		if (dup2(null, fd) < 0)
			return -errno;
	}
	if (dup2(c->orders.stream_fd, 3) < 0 || dup2(c->lock_fd, 4) < 0)
		return -errno;
	return 0;
}

static int child_exec(const struct child *c)
{
	char *const argv[] = {(char *)"llm-sandbox-agent", NULL};
	char *const env[] = {NULL};
	int r = child_place_fds(c);

	if (r < 0)
		return r;
	syscall(SYS_execveat, c->agent_fd, "", argv, env, AT_EMPTY_PATH);
	return -errno;
}

/* ---- the stages ---- */

_Noreturn static void child_fail(const struct child *c, int step, int r)
{
	struct child_failure failure = {.step = step, .sys_errno = -r};

	if (write(c->orders.status_fd, &failure, sizeof(failure)) < 0)
		_exit(2);
	_exit(1);
}

/* Our own descriptors, away from the numbers that the agent's will have. */
static void child_raise_fds(struct child *c)
{
	int *fds[] = {&c->orders.stream_fd, &c->orders.handover_fd, &c->orders.status_fd};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		int r = handover_raise(fds[i]);

		if (r < 0)
			child_fail(c, CHILD_EXEC, r);
	}
}

/*
 * All else that we have is a copy of the parent's: also its ends of the streams of sandboxes that
 * other threads are making. Their children would wait for ever for the end of a parent that is
 * gone, while we hold it open, and we for theirs.
 */
static void child_close_others(const struct child *c)
{
	unsigned int own[] = {(unsigned int)c->orders.stream_fd, (unsigned int)c->orders.handover_fd,
			      (unsigned int)c->orders.status_fd};
	unsigned int from = 0;

	for (size_t left = sizeof(own) / sizeof(own[0]); left > 0; left--) {
		unsigned int next = ~0u;

		for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
			if (own[i] >= from && own[i] < next)
				next = own[i];
		if (next > from)
			syscall(SYS_close_range, from, next - 1, 0);
		from = next + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0);
}

static void child_make_network(const struct child *c)
{
	int r;

	if (unshare(CLONE_NEWNET) < 0)
		child_fail(c, CHILD_NETWORK, -errno);
	r = child_loopback();
	if (r < 0)
		child_fail(c, CHILD_LOOPBACK, r);
}

/* The parent gave up, or is no more: nobody would read why. */
static int child_wait(const struct child *c, void *ret_note, size_t len,
		      int ret_fds[HANDOVER_FDS_MAX])
{
	int count = handover_receive(c->orders.handover_fd, ret_note, len, ret_fds);

	if (count < 0)
		_exit(1);
	return count;
}

static void child_take_build(struct child *c)
{
	struct child_build build;
	int fds[HANDOVER_FDS_MAX], count = child_wait(c, &build, sizeof(build), fds), next = 0;

	if (count < 2)
		_exit(1);
	c->lock_fd = fds[next++];
	c->agent_fd = fds[next++];
	c->become_root = build.become_root;
	for (int i = SBX_MOUNTS_MAX; i < PLAN_TAKES_MAX; i++)
		c->taken[i] = -1;
	for (int i = 0; i < SBX_MOUNTS_MAX; i++)
		c->taken[i] = (build.taken >> i & 1) != 0 && next < count ? fds[next++] : -1;
}

/* Do the steps that take mounts, or all others, in their order. */
static void child_walk(struct child *c, bool takes)
{
	const struct plan *plan = c->orders.plan;

	for (size_t i = 0; i < plan->count; i++) {
		bool is_take = plan->steps[i].kind == STEP_TAKE;
		int r = is_take == takes ? child_step(c, &plan->steps[i]) : 0;

		if (r < 0)
			child_fail(c, (int)i, r);
	}
}

/* What the user may look into, the sandbox's root may not: taken while we are still the user. */
static void child_build(struct child *c)
{
	int r;

	child_walk(c, true);
	r = child_become_root(c);
	if (r < 0)
		child_fail(c, CHILD_USER, r);
	child_walk(c, false);
}

_Noreturn static void child_start(const struct child *c)
{
	struct child_start start;
	int fds[HANDOVER_FDS_MAX], count = child_wait(c, &start, sizeof(start), fds);
	int r = child_enter_cgroup(fds, count);

	if (r < 0)
		child_fail(c, CHILD_CGROUP, r);
	child_fail(c, CHILD_EXEC, child_exec(c));
}

_Noreturn void child_main(const struct child_orders *orders)
{
	struct child c = {.orders = *orders};

	child_unblock_signals();
	umask(022);
	child_raise_fds(&c);
	child_close_others(&c);
	child_make_network(&c);
	child_take_build(&c);
	child_build(&c);
	child_start(&c);
}
