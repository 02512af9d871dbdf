/* SPDX-License-Identifier: MIT */
#include "backend/native/idmap.h"

#include "base/auto.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/*
 * A process that does nothing but have a new user namespace; ends with us. It keeps none of our
 * descriptors, whose ends others may wait for.
 */
static pid_t start_holder(void)
{
	pid_t parent = getpid();
	pid_t pid = (pid_t)syscall(SYS_clone, (unsigned long)(CLONE_NEWUSER | SIGCHLD), NULL, NULL,
				   NULL, NULL);

	if (pid == 0) {
		syscall(SYS_close_range, 0, ~0u, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	return pid;
}

static void end_holder(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int write_map(pid_t pid, const char *file, uint32_t from, uint32_t to)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	snprintf(text, sizeof(text), "%u %u 1", from, to);
	return sbx_write_control(AT_FDCWD, path, text);
}

/* A user namespace whose map turns the owner on disk into the sandbox's user: fd or -errno. */
static int make_namespace(uint32_t uid, uint32_t gid, uint32_t to_uid, uint32_t to_gid)
{
	pid_t pid = start_holder();
	char path[64];
	int r;

	if (pid < 0)
		return -errno;
	r = write_map(pid, "uid_map", uid, to_uid);
	if (r == 0)
		r = write_map(pid, "gid_map", gid, to_gid);
	if (r == 0) {
		snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
		r = open(path, O_RDONLY | O_CLOEXEC);
		r = r < 0 ? -errno : r;
	}
	end_holder(pid);
	return r;
}

int idmap_take(const struct sbx_mount *mount, const struct ids *ids, const struct sbx_spec *spec)
{
	auto_close int fd = (int)syscall(SYS_open_tree, AT_FDCWD, mount->host,
					 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	auto_close int userns_fd = -1;
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	userns_fd = make_namespace(st.st_uid, st.st_gid, ids->first_uid + spec->uid,
				   ids->first_gid + spec->gid);
	if (userns_fd < 0)
		return userns_fd;
	attr.userns_fd = (__u64)userns_fd;
	if (syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	return take_fd(fd);
}
