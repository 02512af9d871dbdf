/* SPDX-License-Identifier: MIT */
/* Bombs. Each takes until it is refused or killed; the driver checks what is left of the host. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (1ul << 20)

static int memory(char **args)
{
	unsigned long most = strtoul(args[0], NULL, 10);

	for (unsigned long i = 0; i < most; i++) {
		char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return held("no memory after %lu MiB", i);
		memset(p, 1, MIB);
	}
	return came_through("took %lu MiB", most);
}

/* At most so many processes at one time, these included. */
static int processes(char **args)
{
	unsigned long most = strtoul(args[0], NULL, 10), made = 0;
	pid_t pid;

	while (made < most && (pid = fork()) >= 0) {
		if (pid == 0)
			for (;;)
				pause();
		made++;
	}
	if (made >= most)
		return came_through("made %lu processes", made);
	return held("%lu processes, then: %s", made, strerror(errno));
}

/* Children that fork as long as they can; only the end of the sandbox ends it. */
static _Noreturn int fork_bomb(char **args)
{
	(void)args;
	for (;;)
		fork();
}

static unsigned long fill(const char *path, unsigned long most)
{
	static char block[MIB];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	unsigned long written = 0;
	long n;

	signal(SIGXFSZ, SIG_IGN); /* one file has a limit of its own, with a signal */
	memset(block, 1, sizeof(block));
	while (fd >= 0 && written < most && (n = write(fd, block, sizeof(block))) > 0)
		written += (unsigned long)n;
	return written;
}

/* All folders together take no more than this. */
static int disk(char **args)
{
	static const char *const files[] = {"/sandbox/fill", "/tmp/fill", "/home/sandbox/fill",
					    "/dev/shm/fill", "/var/tmp/fill", "/run/fill",
					    "/run/lock/fill", "/dev/fill", "/fill"};
	unsigned long most = strtoul(args[0], NULL, 10) * MIB, written = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		written += fill(files[i], 2 * most);
	if (written > most)
		return came_through("wrote %lu bytes", written);
	return held("wrote %lu bytes, then: %s", written, strerror(errno));
}

/* Files cost memory of the kernel even when they are empty. */
static int inodes(char **args)
{
	unsigned long most = strtoul(args[0], NULL, 10);
	char path[64];

	for (unsigned long i = 0; i < most; i++) {
		int fd;

		snprintf(path, sizeof(path), "/tmp/f%lu", i);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return held("%lu files, then: %s", i, strerror(errno));
		close(fd);
	}
	return came_through("made %lu files", most);
}

static _Noreturn int spin(char **args)
{
	(void)args;
	for (;;)
		__asm__ volatile("");
}

const struct attack attacks_on_resources[] = {
	{"memory", memory},   {"processes", processes}, {"fork-bomb", fork_bomb},
	{"disk", disk},	      {"inodes", inodes},	{"spin", spin},
	{NULL, NULL},
};
