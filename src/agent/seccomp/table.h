/* SPDX-License-Identifier: MIT */
/*
 * Which system calls a sandbox may make: the table that generate.c turns into the agent's filter, and into
 * the profile that container engines put around a whole container. The agent and the runtimes that start it
 * (runc, crun) need nothing beyond it once a filter is up.
 *
 * A call is in one of three places. `seccomp_allowed` lists what may be called freely, a reason
 * per group. `seccomp_left_out` lists what was left out on purpose, with the error it gives.
 * `seccomp_rows` decides by arguments: the rows of one call stand together, and the first of
 * them that fits decides; the last one has no condition. All that is named nowhere is unknown
 * and gives ENOSYS, as on an older kernel, so that libraries use what they used before the call
 * existed.
 *
 * The kernel takes most arguments as int and drops the upper half of the register, so the
 * filter looks at the lower half alone: 0x100005412 is TIOCSTI too.
 *
 * The agent runs behind the same filter: it needs setgroups, setresuid, capset, landlock and
 * the rest of fence.c, which do nothing for a process without capabilities.
 */
#pragma once

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

struct seccomp_group {
	const char *reason;
	const char *const *names;
};

static const struct seccomp_group seccomp_allowed[] = {
	{"files: open, read, write; what may be reached is the mount tree's and Landlock's to say",
	 NAMES("open", "openat", "openat2", "creat", "close", "close_range", "read", "write",
	       "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "preadv2",
	       "pwritev2", "lseek", "dup", "dup2", "dup3", "fcntl", "flock", "fsync",
	       "fdatasync", "sync", "syncfs", "sync_file_range", "fallocate", "fadvise64",
	       "readahead", "truncate", "ftruncate", "sendfile", "copy_file_range", "splice",
	       "tee", "pipe", "pipe2", "memfd_create", "cachestat")},
	{"names: look up, list and change the file tree",
	 NAMES("stat", "fstat", "lstat", "newfstatat", "statx", "statfs", "fstatfs", "access",
	       "faccessat", "faccessat2", "getdents", "getdents64", "getcwd", "chdir", "fchdir",
	       "mkdir", "mkdirat", "rmdir", "rename", "renameat", "renameat2", "link", "linkat",
	       "unlink", "unlinkat", "symlink", "symlinkat", "readlink", "readlinkat", "chmod",
	       "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat",
	       "umask", "utime", "utimes", "futimesat", "utimensat", "setxattr", "lsetxattr",
	       "fsetxattr", "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr",
	       "flistxattr", "removexattr", "lremovexattr", "fremovexattr", "setxattrat",
	       "getxattrat", "listxattrat", "removexattrat")},
	{"waiting for events",
	 NAMES("poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1",
	       "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "eventfd", "eventfd2",
	       "signalfd", "signalfd4", "timerfd_create", "timerfd_settime", "timerfd_gettime",
	       "inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch")},
	{"memory: allocators, garbage collectors and just-in-time compilers",
	 NAMES("brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "mincore", "msync",
	       "mlock", "mlock2", "mlockall", "munlock", "munlockall", "membarrier",
	       "remap_file_pages", "pkey_alloc", "pkey_free", "pkey_mprotect", "get_mempolicy",
	       "set_mempolicy", "set_mempolicy_home_node", "mbind", "map_shadow_stack",
	       "mseal")},
	{"processes and threads of its own",
	 NAMES("fork", "vfork", "execve", "execveat", "exit", "exit_group", "wait4", "waitid",
	       "pidfd_open", "pidfd_send_signal", "getpid", "getppid", "gettid", "getpgrp",
	       "getpgid", "setpgid", "getsid", "setsid", "set_tid_address", "set_robust_list",
	       "get_robust_list", "rseq", "futex", "futex_waitv", "futex_wake", "futex_wait",
	       "futex_requeue", "arch_prctl", "set_thread_area", "get_thread_area")},
	{"signals; a process outside the sandbox has no number inside",
	 NAMES("kill", "tkill", "tgkill", "rt_sigaction", "rt_sigprocmask", "rt_sigpending",
	       "rt_sigqueueinfo", "rt_tgsigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
	       "rt_sigtimedwait", "sigaltstack", "pause", "restart_syscall")},
	{"scheduling, within its own CPU share; real-time classes need what it does not have",
	 NAMES("sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getattr",
	       "sched_setattr", "sched_getparam", "sched_setparam", "sched_getscheduler",
	       "sched_setscheduler", "sched_get_priority_max", "sched_get_priority_min",
	       "sched_rr_get_interval", "getpriority", "setpriority", "ioprio_get",
	       "ioprio_set", "getcpu")},
	{"time: read clocks, sleep, own timers",
	 NAMES("time", "gettimeofday", "clock_gettime", "clock_getres", "clock_nanosleep",
	       "nanosleep", "alarm", "getitimer", "setitimer", "timer_create", "timer_settime",
	       "timer_gettime", "timer_getoverrun", "timer_delete", "times")},
	{"identity and limits; raising any of them needs a capability, and there is none",
	 NAMES("getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups",
	       "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid",
	       "setgroups", "setfsuid", "setfsgid", "capget", "capset", "getrlimit",
	       "setrlimit", "prlimit64", "getrusage", "sysinfo", "uname", "getrandom")},
	{"fencing itself in further, as browsers and test tools do",
	 NAMES("seccomp", "landlock_create_ruleset", "landlock_add_rule",
	       "landlock_restrict_self")},
	{"sockets once made; what may be made is in seccomp_rows",
	 NAMES("bind", "listen", "accept", "accept4", "connect", "getsockname", "getpeername",
	       "getsockopt", "setsockopt", "shutdown", "sendto", "recvfrom", "sendmsg",
	       "recvmsg", "sendmmsg", "recvmmsg")},
	{"System V and POSIX message passing, in the sandbox's own IPC namespace",
	 NAMES("shmget", "shmat", "shmdt", "shmctl", "semget", "semop", "semtimedop", "semctl",
	       "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink",
	       "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr")},
};

struct seccomp_omission {
	int error; /* what the call gives */
	const char *reason;
	const char *const *names;
};

static const struct seccomp_omission seccomp_left_out[] = {
	{EPERM, "changing what is mounted where",
	 NAMES("mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree",
	       "open_tree_attr", "fsopen", "fsmount", "fspick", "fsconfig", "mount_setattr")},
	{EPERM, "namespaces: a new user namespace opens much of the kernel to its owner",
	 NAMES("unshare", "setns")},
	{ENOSYS, "clone3 has its flags in memory, where no filter sees them; libraries use clone",
	 NAMES("clone3")},
	{EPERM, "looking into or steering another process",
	 NAMES("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
	       "process_mrelease", "kcmp", "pidfd_getfd", "migrate_pages", "move_pages")},
	{EPERM, "programs and probes in the kernel, and counters that see through it",
	 NAMES("bpf", "perf_event_open", "lookup_dcookie")},
	{EPERM, "stopping the kernel half way through a copy, a favourite of exploits",
	 NAMES("userfaultfd")},
	{ENOSYS, "lending pages that can still be written, with which copies were broken into; programs write",
	 NAMES("vmsplice")},
	{EPERM, "the key store is not divided by namespaces",
	 NAMES("keyctl", "add_key", "request_key")},
	{EPERM, "a second way to make system calls, past this filter",
	 NAMES("io_uring_setup", "io_uring_enter", "io_uring_register")},
	{ENOSYS, "kernel AIO takes from one count of the whole machine; programs use threads",
	 NAMES("io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents",
	       "io_pgetevents")},
	{EPERM, "another kernel, or more of this one",
	 NAMES("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
	       "create_module", "query_module", "get_kernel_syms")},
	{EPERM, "the machine: power, swap, accounting, log, names, consoles, quotas",
	 NAMES("reboot", "swapon", "swapoff", "acct", "syslog", "sethostname", "setdomainname",
	       "vhangup", "quotactl", "quotactl_fd", "nfsservctl", "_sysctl", "uselib",
	       "ustat", "sysfs")},
	{EPERM, "setting the clocks, which have no namespace",
	 NAMES("settimeofday", "clock_settime", "clock_adjtime", "adjtimex")},
	{EPERM, "opening files by number, around every folder above them",
	 NAMES("name_to_handle_at", "open_by_handle_at")},
	{EPERM, "watching whole file systems", NAMES("fanotify_init", "fanotify_mark")},
	{EPERM, "hardware ports and segment tables", NAMES("iopl", "ioperm", "modify_ldt")},
	{EPERM, "memory that no accounting sees and no dump shows", NAMES("memfd_secret")},
};

struct seccomp_condition {
	unsigned int arg;
	uint32_t mask, value; /* of the lower 32 bits */
};

#define ALL 0xffffffffu
#define SECCOMP_CONDITIONS_MAX 3

/* error 0 = allowed. A condition with mask 0 is none. */
struct seccomp_row {
	const char *name;
	int error;
	const char *reason;
	struct seccomp_condition when[SECCOMP_CONDITIONS_MAX];
};

#define CLONE_NAMESPACES                                                                  \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |    \
	 CLONE_NEWPID | CLONE_NEWNET)
#define KIND 0xfu /* of a socket, below SOCK_CLOEXEC and SOCK_NONBLOCK */

/* AF_INET and AF_INET6, which differ in one bit. */
#define INET {0, ~(uint32_t)(AF_INET ^ AF_INET6), AF_INET & AF_INET6}
_Static_assert(((AF_INET ^ AF_INET6) & ((AF_INET ^ AF_INET6) - 1)) == 0, "one condition for both");

#define MAKE_NODE(call, arg)                                             \
	{call, 0, "a regular file", {{arg, S_IFMT, 0}}},                 \
	{call, 0, "a regular file", {{arg, S_IFMT, S_IFREG}}},           \
	{call, 0, "a FIFO", {{arg, S_IFMT, S_IFIFO}}},                   \
	{call, 0, "a socket", {{arg, S_IFMT, S_IFSOCK}}},                \
	{call, EPERM, "devices", {{0, 0, 0}}}

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#endif

static const struct seccomp_row seccomp_rows[] = {
	{"clone", 0, "threads and processes", {{0, CLONE_NAMESPACES, 0}}},
	{"clone", EPERM, "namespaces, as unshare", {{0, 0, 0}}},

	{"socketpair", 0, "between processes inside", {{0, ALL, AF_UNIX}}},
	{"socketpair", EAFNOSUPPORT, "all other families", {{0, 0, 0}}},

	{"socket", 0, "between processes inside", {{0, ALL, AF_UNIX}}},
	{"socket", 0, "TCP", {INET, {1, KIND, SOCK_STREAM}, {2, ALL, 0}}},
	{"socket", 0, "TCP", {INET, {1, KIND, SOCK_STREAM}, {2, ALL, IPPROTO_TCP}}},
	{"socket", 0, "UDP", {INET, {1, KIND, SOCK_DGRAM}, {2, ALL, 0}}},
	{"socket", 0, "UDP", {INET, {1, KIND, SOCK_DGRAM}, {2, ALL, IPPROTO_UDP}}},
	{"socket", EPROTONOSUPPORT, "SCTP, MPTCP, SMC …: they load modules and are rarely used",
	 {INET, {1, KIND, SOCK_STREAM}}},
	{"socket", EPROTONOSUPPORT, "ICMP, UDP-Lite …: as the line above",
	 {INET, {1, KIND, SOCK_DGRAM}}},
	{"socket", EPERM, "raw packets", {INET, {1, KIND, SOCK_RAW}}},
	{"socket", EPERM, "raw packets", {INET, {1, KIND, SOCK_PACKET}}},
	{"socket", ESOCKTNOSUPPORT, "SCTP, DCCP and what nobody knows", {INET}},

	{"socket", 0, "asking for the interfaces, as getifaddrs() does",
	 {{0, ALL, AF_NETLINK}, {2, ALL, NETLINK_ROUTE}}},
	{"socket", EPROTONOSUPPORT, "parts of the kernel that nobody here needs",
	 {{0, ALL, AF_NETLINK}}},
	{"socket", EAFNOSUPPORT, "all other families", {{0, 0, 0}}},

	MAKE_NODE("mknod", 1),
	MAKE_NODE("mknodat", 2),

	{"ioctl", EPERM, "typing into a terminal", {{1, ALL, TIOCSTI}}},
	{"ioctl", EPERM, "the console's selection", {{1, ALL, TIOCLINUX}}},
	{"ioctl", EPERM, "a terminal's line discipline", {{1, ALL, TIOCSETD}}},
	{"ioctl", EPERM, "taking the console", {{1, ALL, TIOCCONS}}},
	{"ioctl", 0, "all others", {{0, 0, 0}}},

	{"prctl", EPERM, "moving the pieces of one's address space", {{0, ALL, PR_SET_MM}}},
	{"prctl", EPERM, "keeping a whole core", {{0, ALL, PR_SCHED_CORE}}},
	{"prctl", 0, "all others", {{0, 0, 0}}},

	{"personality", 0, "Linux as it is", {{0, ALL, 0}}},
	{"personality", 0, "asking which", {{0, ALL, ALL}}},
	{"personality", EPERM, "old quirks, of no use but to exploits", {{0, 0, 0}}},
};

/* Calls younger than libseccomp's table; from 424 on numbers are the same on every machine. */
struct seccomp_young {
	const char *name;
	int number;
};

static const struct seccomp_young seccomp_younger[] = {
	{"cachestat", 451},  {"fchmodat2", 452},   {"map_shadow_stack", 453},
	{"futex_wake", 454}, {"futex_wait", 455},  {"futex_requeue", 456},
	{"mseal", 462},	     {"setxattrat", 463},  {"getxattrat", 464},
	{"listxattrat", 465}, {"removexattrat", 466}, {"open_tree_attr", 467},
};
