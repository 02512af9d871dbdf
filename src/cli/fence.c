/* SPDX-License-Identifier: MIT */
#include "cli/fence.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "no number of this architecture is known here; see linux/audit.h"
#endif

/* Memory, the open descriptors, and the end; with the rest a program can only find out things. */
static const unsigned short allowed[] = {
	__NR_read,  __NR_write,	       __NR_fstat,	 __NR_newfstatat, __NR_lseek,
	__NR_brk,   __NR_mmap,	       __NR_munmap,	 __NR_mremap,	  __NR_madvise,
	__NR_futex, __NR_exit,	       __NR_exit_group,	 __NR_getrandom,  __NR_clock_gettime,
	__NR_ppoll, __NR_rt_sigreturn, __NR_sigaltstack, /* the last is of sanitizers */
};

#define COUNT	    (sizeof(allowed) / sizeof(allowed[0]))
#define FIELD(name) (unsigned int)offsetof(struct seccomp_data, name)

/* Another architecture's numbers, and x32's, mean other calls: seccomp(2). */
static bool filter(void)
{
	struct sock_filter code[COUNT + 6];
	struct sock_fprog program = {.filter = code};
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(nr));
	for (size_t i = 0; i < COUNT; i++)
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
							 (unsigned char)(COUNT - i), 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

static bool limit(int which, rlim_t value)
{
	struct rlimit r = {value, value};

	return setrlimit((__rlimit_resource_t)which, &r) == 0;
}

bool fence_close(size_t memory_bytes, unsigned int cpu_seconds)
{
	return limit(RLIMIT_AS, memory_bytes) && limit(RLIMIT_CPU, cpu_seconds) &&
	       limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, 3) && filter();
}
