/* SPDX-License-Identifier: MIT */
#include "agent/fence.h"

#include "seccomp_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule	    445
#define SYS_landlock_restrict_self  446
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool wants(const struct wire_setup *setup, enum wire_fence fence)
{
	return (setup->fences & 1u << fence) != 0;
}

/* 0 or the positive errno of a call that returned ret. */
static uint32_t errno_of(long ret)
{
	return ret < 0 ? (uint32_t)errno : 0;
}

/*
 * Landlock. The kernel's own header may be older than the kernel, so what we use of
 * <linux/landlock.h> is spelt out here; see landlock(7) for which ABI brought what.
 */

enum landlock_right {
	LL_EXECUTE = 1 << 0,
	LL_WRITE_FILE = 1 << 1,
	LL_READ_FILE = 1 << 2,
	LL_READ_DIR = 1 << 3,
	LL_MAKE_CHAR = 1 << 6,
	LL_MAKE_BLOCK = 1 << 11,
	LL_TRUNCATE = 1 << 14,
	LL_IOCTL_DEV = 1 << 15,
};

/* Those that mean something for a file that is not a folder. */
#define LL_OF_FILES \
	(LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | LL_TRUNCATE | LL_IOCTL_DEV)
#define LL_READ		  (LL_EXECUTE | LL_READ_FILE | LL_READ_DIR)
#define LL_SCOPES	  3u /* abstract Unix sockets and signals stay inside */
#define LL_VERSION	  1u
#define LL_PATH_BENEATH	  1
#define LL_LOG_NOTHING	  5u /* of its denials, nor of domains inside it: no flood of audit logs */
#define LL_LOG_SINCE_ABI  7

struct landlock_ruleset {
	uint64_t handled_fs, handled_net, scoped;
};

struct landlock_beneath {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

static long landlock_abi(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LL_VERSION);
}

static uint64_t rights_of_abi(long abi)
{
	static const unsigned int bits[] = {0, 13, 14, 15, 15, 16};

	return (1ull << bits[abi < (long)COUNT(bits) ? abi : (long)COUNT(bits) - 1]) - 1;
}

/* A path that is not there needs no rule. */
static uint32_t landlock_allow(int ruleset_fd, const char *path, uint64_t rights)
{
	struct landlock_beneath rule = {.allowed = rights};
	struct stat st;
	uint32_t error;
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : (uint32_t)errno;
	error = errno_of(fstat(fd, &st));
	if (error == 0) {
		if (!S_ISDIR(st.st_mode))
			rule.allowed &= LL_OF_FILES;
		rule.parent_fd = fd;
		error = errno_of(syscall(SYS_landlock_add_rule, ruleset_fd, LL_PATH_BENEATH,
					 &rule, 0));
	}
	close(fd);
	return error;
}

/*
 * Everything may be read as far as its mode says; the tree is ours. /dev and /proc can be
 * written where their nodes allow, such as /dev/null and /proc/self/oom_score_adj.
 */
static uint32_t landlock_allow_all(int ruleset_fd, const struct wire_setup *setup, uint64_t known)
{
	uint64_t nodes = LL_READ | LL_WRITE_FILE | LL_TRUNCATE;
	uint64_t writable = known & ~(uint64_t)(LL_MAKE_CHAR | LL_MAKE_BLOCK | LL_IOCTL_DEV);
	uint32_t error = landlock_allow(ruleset_fd, "/", known & LL_READ);

	if (error == 0)
		error = landlock_allow(ruleset_fd, "/dev", known & (nodes | LL_IOCTL_DEV));
	if (error == 0)
		error = landlock_allow(ruleset_fd, "/proc", known & nodes);
	for (size_t i = 0; error == 0 && i < setup->writable_count; i++)
		error = landlock_allow(ruleset_fd, setup->writable[i], writable);
	return error;
}

/* Descriptors 0 to 2 are about to become a program's streams: move ours away from there. */
static int move_above_streams(int fd)
{
	int moved;

	if (fd < 0 || fd > 2)
		return fd;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return moved;
}

static uint32_t make_landlock(struct agent_fence *f)
{
	struct landlock_ruleset attr = {0};
	long abi = landlock_abi();
	uint32_t error;
	int fd;

	if (abi < 1)
		return abi < 0 ? (uint32_t)errno : ENOSYS;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return EPERM; /* no child could enter it */
	attr.handled_fs = rights_of_abi(abi);
	attr.scoped = abi >= 6 ? LL_SCOPES : 0;
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	fd = move_above_streams(fd);
	if (fd < 0)
		return (uint32_t)errno;
	error = landlock_allow_all(fd, f->setup, attr.handled_fs);
	if (error != 0)
		close(fd);
	else
		f->landlock_fd = fd;
	return error;
}

static int child_enter_landlock(int ruleset_fd)
{
	if (syscall(SYS_landlock_restrict_self, ruleset_fd, LL_LOG_NOTHING) == 0)
		return 0;
	if (errno == EINVAL && landlock_abi() < LL_LOG_SINCE_ABI &&
	    syscall(SYS_landlock_restrict_self, ruleset_fd, 0) == 0)
		return 0;
	return -errno;
}

/*
 * The user. Raw system calls: those of a libc change every thread's identity, with machinery
 * that has no place between fork and exec.
 */

/* Whether our user namespace knows uid and gid, and lets us become them. */
static bool can_become(uint32_t uid, uint32_t gid)
{
	long old_uid = syscall(SYS_setfsuid, uid), old_gid = syscall(SYS_setfsgid, gid);
	bool can = syscall(SYS_setfsuid, -1) == (long)uid && syscall(SYS_setfsgid, -1) == (long)gid;

	syscall(SYS_setfsuid, old_uid);
	syscall(SYS_setfsgid, old_gid);
	return can;
}

static uint32_t prepare_user(struct agent_fence *f)
{
	const struct wire_setup *setup = f->setup;

	if (geteuid() != 0 || !can_become(setup->uid, setup->gid))
		return EPERM;
	if (syscall(SYS_setgroups, 0, NULL) < 0)
		return (uint32_t)errno;
	f->switch_user = true;
	return setup->uid == geteuid() ? EPERM : 0; /* it becomes root, whom it shares with us */
}

static int child_switch_user(const struct wire_setup *setup)
{
	uint32_t ruid, euid, suid;

	if (syscall(SYS_setgroups, 0, NULL) < 0 ||
	    syscall(SYS_setresgid, setup->gid, setup->gid, setup->gid) < 0 ||
	    syscall(SYS_setresuid, setup->uid, setup->uid, setup->uid) < 0)
		return -errno;
	if (syscall(SYS_getresuid, &ruid, &euid, &suid) < 0)
		return -errno;
	return ruid == setup->uid && euid == setup->uid && suid == setup->uid ? 0 : -EPERM;
}

/* Capabilities. A set of them is a 64-bit mask here and two 32-bit halves in the kernel. */

#define BIT(cap) (1ull << (cap))

static int get_capabilities(struct __user_cap_data_struct ret[2])
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &header, ret) < 0 ? -errno : 0;
}

/* Keep only these of the permitted ones, and pass none on. */
static int keep_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	int r = get_capabilities(data);

	if (r < 0)
		return r;
	for (size_t i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> 32 * i);
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/*
 * Lock that uid 0 means nothing by itself, that leaving it drops what is left, and that nothing
 * survives an exec. See capabilities(7), "The securebits flags".
 */
static int lock_securebits(void)
{
	unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
			     SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
			     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	if (prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) == (int)bits)
		return 0;
	return prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0 ? -errno : 0;
}

/* The kernel says EINVAL behind its last capability, and EPERM to who may not drop one; then it
 * matters whether there is one. */
static int empty_bounding_set(void)
{
	for (unsigned long cap = 0; cap < 64; cap++) {
		int problem = prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 ? errno : 0;

		if (problem == EINVAL)
			break;
		if (problem != 0 && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 0)
			return -problem;
	}
	return 0;
}

/* Drops all that can be dropped even when a part of it is refused, and reports the first. */
static uint32_t drop_capabilities(const struct agent_fence *f)
{
	uint64_t keep = f->switch_user ? BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL) : 0;
	int bounding = empty_bounding_set(), bits = lock_securebits(), ambient = 0, kept;

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		ambient = -errno;
	kept = keep_capabilities(keep);
	if (bounding != 0)
		return (uint32_t)-bounding;
	if (bits != 0)
		return (uint32_t)-bits;
	return (uint32_t)(ambient != 0 ? -ambient : -kept);
}

static int child_drop_capabilities(void)
{
	struct __user_cap_data_struct left[2];
	int r = keep_capabilities(0);

	if (r == 0)
		r = get_capabilities(left);
	if (r < 0)
		return r;
	for (size_t i = 0; i < 2; i++)
		if ((left[i].effective | left[i].permitted | left[i].inheritable) != 0)
			return -EPERM;
	return 0;
}

static uint32_t load_filter(void)
{
	struct sock_fprog program = {
		.len = COUNT(seccomp_filter),
		.filter = (struct sock_filter *)seccomp_filter,
	};

	return errno_of(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

/* Limits are set in the child; here we only find those that this kernel does not have. */
static uint32_t check_rlimits(const struct wire_setup *setup)
{
	struct rlimit present;

	for (size_t i = 0; i < setup->rlimit_count; i++)
		if (getrlimit((int)setup->rlimits[i].resource, &present) < 0)
			return (uint32_t)errno;
	return 0;
}

/* A value above the present hard limit is lowered to it: raising needs a privilege. */
static int child_set_rlimits(const struct wire_setup *setup)
{
	for (size_t i = 0; i < setup->rlimit_count; i++) {
		const struct wire_rlimit *wanted = &setup->rlimits[i];
		struct rlimit limit;

		if (getrlimit((int)wanted->resource, &limit) < 0)
			continue; /* READY said so */
		if (limit.rlim_max > wanted->value)
			limit.rlim_max = wanted->value;
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit((int)wanted->resource, &limit) < 0)
			return -errno;
	}
	return 0;
}

/*
 * Where programs run as the agent's own user, the kernel would let them open /proc/1/mem and
 * the like; a process that may not dump core is closed to them. Children open up at exec.
 */
static void close_to_own_user(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/*
 * The order matters: no_new_privs is what lets us load a filter and enter Landlock; whom we can
 * become decides which capabilities stay; and emptying the bounding set needs one of those
 * that go.
 */
int agent_fence_up(struct agent_fence *f, const struct wire_setup *setup, struct wire_ready *ready)
{
	uint32_t *went = ready->fence_errno;

	*f = (struct agent_fence){.setup = setup, .landlock_fd = -1};
	if (wants(setup, WIRE_FENCE_NO_NEW_PRIVS))
		went[WIRE_FENCE_NO_NEW_PRIVS] = errno_of(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (wants(setup, WIRE_FENCE_RLIMIT))
		went[WIRE_FENCE_RLIMIT] = check_rlimits(setup);
	if (wants(setup, WIRE_FENCE_LANDLOCK))
		went[WIRE_FENCE_LANDLOCK] = make_landlock(f);
	if (wants(setup, WIRE_FENCE_USER))
		went[WIRE_FENCE_USER] = prepare_user(f);
	if (wants(setup, WIRE_FENCE_CAPABILITIES))
		went[WIRE_FENCE_CAPABILITIES] = drop_capabilities(f);
	if (wants(setup, WIRE_FENCE_SECCOMP))
		went[WIRE_FENCE_SECCOMP] = load_filter();
	close_to_own_user();
	return 0;
}

/* Landlock comes last, so that nothing of the above meets it. */
int child_fence(const struct agent_fence *f, const char **ret_step)
{
	const char *step = "set its limits";
	int r = 0;

	if (wants(f->setup, WIRE_FENCE_RLIMIT))
		r = child_set_rlimits(f->setup);
	if (r == 0 && f->switch_user) {
		step = "become its user";
		r = child_switch_user(f->setup);
	}
	if (r == 0 && wants(f->setup, WIRE_FENCE_CAPABILITIES)) {
		step = "drop its capabilities";
		r = child_drop_capabilities();
	}
	if (r == 0 && f->landlock_fd >= 0) {
		step = "enter Landlock";
		r = child_enter_landlock(f->landlock_fd);
	}
	if (r < 0)
		*ret_step = step;
	return r;
}
