/* SPDX-License-Identifier: MIT */
/* System calls that the filter refuses, by number and by argument. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* NAME NUMBER ERRNO, again and again: the filter's own list, as the driver read it. */
static int numbers(char **args)
{
	int bad = 0;

	for (; args[0] != NULL; args += 3)
		bad |= must_fail(args[0], syscall(atol(args[1]), 0, 0, 0, 0, 0, 0), atoi(args[2]));
	return bad;
}

static int unknown_numbers(char **args)
{
	int bad = 0;

	(void)args;
	for (long number = 500; number < 1100; number += 7)
		bad |= must_fail("an unknown call", syscall(number, 0, 0, 0), ENOSYS);
	return bad;
}

static int mounts(char **args)
{
	int bad = 0;

	(void)args;
	bad |= must_fail("mount tmpfs", mount("none", "/tmp", "tmpfs", 0, ""), EPERM);
	bad |= must_fail("remount /usr", mount("", "/usr", "", MS_REMOUNT | MS_BIND, ""), EPERM);
	bad |= must_fail("mount proc", mount("proc", "/tmp", "proc", 0, ""), EPERM);
	bad |= must_fail("umount /proc", umount2("/proc", MNT_DETACH), EPERM);
	bad |= must_fail("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp"), EPERM);
	bad |= must_fail("chroot", chroot("/tmp"), EPERM);
	return bad;
}

/* Runs in a child, which a successful call would leave in two. */
static int try_clone(const char *what, unsigned long flags)
{
	pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return must_fail(what, pid, EPERM);
}

static int namespaces(char **args)
{
	struct clone_args clone3 = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	int bad = 0, fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);

	(void)args;
	bad |= must_fail("unshare a user namespace", syscall(SYS_unshare, CLONE_NEWUSER), EPERM);
	bad |= must_fail("unshare all",
			 syscall(SYS_unshare, CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET), EPERM);
	bad |= must_fail("setns", syscall(SYS_setns, fd, 0), EPERM);
	bad |= try_clone("clone a user namespace", CLONE_NEWUSER);
	bad |= try_clone("clone a mount namespace", CLONE_NEWUSER | CLONE_NEWNS);
	bad |= try_clone("clone a pid namespace", CLONE_NEWPID);
	bad |= try_clone("clone a network namespace", CLONE_NEWNET);
	bad |= try_clone("clone with a stray upper half", 1ul << 40 | CLONE_NEWUSER);
	bad |= must_fail("clone3", syscall(SYS_clone3, &clone3, sizeof(clone3)), ENOSYS);
	return bad;
}

/* The same numbers through the doors that mean other calls. */
static int foreign_call(bool x32)
{
	long ret;

	if (x32)
		ret = syscall(0x40000000 | SYS_getpid);
	else
		__asm__ volatile("int $0x80" : "=a"(ret) : "a"(20L /* getpid */) : "memory");
	return ret >= 0 ? 1 : 0;
}

static int foreign_abis(char **args)
{
	int bad = 0;

	(void)args;
	for (int x32 = 0; x32 < 2; x32++) {
		const char *what = x32 ? "an x32 call" : "an i386 call";
		int status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(foreign_call(x32 == 1));
		waitpid(pid, &status, 0);
		if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
			bad |= came_through("%s was served", what);
		else
			held("%s: status %#x", what, (unsigned int)status);
	}
	return bad;
}

static int terminals(char **args)
{
	static const unsigned long commands[] = {TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS};
	char byte = 'x';
	int bad = 0;

	(void)args;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		bad |= must_fail("a terminal's ioctl", syscall(SYS_ioctl, 0, commands[i], &byte),
				 EPERM);
		bad |= must_fail("the same with a stray upper half",
				 syscall(SYS_ioctl, 0, commands[i] | 1ul << 32, &byte), EPERM);
	}
	return bad;
}

static int devices(char **args)
{
	int bad = 0;

	(void)args;
	bad |= must_fail("mknod of a disk", mknod("/tmp/disk", S_IFBLK | 0666, 8 << 8), EPERM);
	bad |= must_fail("mknod of memory", mknod("/tmp/mem", S_IFCHR | 0666, 1 << 8 | 1), EPERM);
	bad |= must_fail("mknodat", mknodat(AT_FDCWD, "/tmp/null", S_IFCHR | 0666, 1 << 8 | 3),
			 EPERM);
	if (mkfifo("/tmp/fifo", 0600) != 0)
		bad |= came_through("a FIFO, which is harmless, was refused");
	return bad;
}

static int oneself(char **args)
{
	int bad = 0;

	(void)args;
	bad |= must_fail("PR_SET_MM", prctl(PR_SET_MM, PR_SET_MM_BRK, 0, 0, 0), EPERM);
	bad |= must_fail("personality", syscall(SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */),
			 EPERM);
	if (syscall(SYS_personality, 0xffffffff) != 0)
		bad |= came_through("asking for the personality was refused");
	return bad;
}

static int sockets(char **args)
{
	static const struct {
		const char *what;
		int family, type, protocol, error;
	} rows[] = {
		{"a raw IPv4 socket", AF_INET, SOCK_RAW, 1, EPERM},
		{"a raw IPv6 socket", AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 58, EPERM},
		{"an old packet socket", AF_INET, SOCK_PACKET, 0, EPERM},
		{"a packet socket", AF_PACKET, SOCK_RAW, 0x300, EAFNOSUPPORT},
		{"a vsock", AF_VSOCK, SOCK_STREAM, 0, EAFNOSUPPORT},
		{"an alg socket", AF_ALG, SOCK_SEQPACKET, 0, EAFNOSUPPORT},
		{"a key socket", AF_KEY, SOCK_RAW, 2, EAFNOSUPPORT},
		{"a bluetooth socket", AF_BLUETOOTH, SOCK_RAW, 1, EAFNOSUPPORT},
		{"a CAN socket", AF_CAN, SOCK_RAW, 1, EAFNOSUPPORT},
		{"a TIPC socket", AF_TIPC, SOCK_STREAM, 0, EAFNOSUPPORT},
		{"an RDS socket", AF_RDS, SOCK_SEQPACKET, 0, EAFNOSUPPORT},
		{"an XDP socket", AF_XDP, SOCK_RAW, 0, EAFNOSUPPORT},
		{"SCTP", AF_INET, SOCK_STREAM, 132, EPROTONOSUPPORT},
		{"the audit log", AF_NETLINK, SOCK_RAW, 9, EPROTONOSUPPORT},
		{"the packet filter", AF_NETLINK, SOCK_RAW, 12, EPROTONOSUPPORT},
		{"device events", AF_NETLINK, SOCK_DGRAM, 15, EPROTONOSUPPORT},
	};
	int bad = 0;

	(void)args;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		bad |= must_fail(rows[i].what,
				 socket(rows[i].family, rows[i].type, rows[i].protocol),
				 rows[i].error);
	bad |= must_fail("a packet socket with a stray upper half",
			 syscall(SYS_socket, AF_PACKET | 1ul << 32, SOCK_RAW, 0), EAFNOSUPPORT);
	bad |= must_fail("a raw socket with a stray upper half",
			 syscall(SYS_socket, AF_INET, SOCK_RAW | 1ul << 32, 1), EPERM);
	return bad;
}

/* The other side of a filter: what every program does must work. */
static int harmless(char **args)
{
	static const int families[] = {AF_UNIX, AF_INET, AF_INET6};
	int pair[2], bad = 0;

	(void)args;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		if (socket(families[i], SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ||
		    socket(families[i], SOCK_DGRAM | SOCK_NONBLOCK, 0) < 0)
			bad |= came_through("a socket of family %d: %s", families[i],
					    strerror(errno));
	}
	if (socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) < 0)
		bad |= came_through("a route socket: %s", strerror(errno));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0)
		bad |= came_through("a socket pair: %s", strerror(errno));
	return bad;
}

const struct attack attacks_on_calls[] = {
	{"numbers", numbers},	 {"unknown-numbers", unknown_numbers},
	{"mounts", mounts},	 {"namespaces", namespaces},
	{"foreign-abis", foreign_abis}, {"terminals", terminals},
	{"devices", devices},	 {"oneself", oneself},
	{"sockets", sockets},	 {"harmless", harmless},
	{NULL, NULL},
};
