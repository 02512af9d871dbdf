/* SPDX-License-Identifier: MIT */
#include "backend/engine/owner.h"

#include "base/auto.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define VERSION "1"

struct owner {
	char host[17], boot[40], spaces[48];
	long pid;
	unsigned long long start;
};

/* The first line of a small file; "" when there is none. */
static const char *read_line(const char *path, char *ret, size_t size)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, ret, size - 1) : 0;

	ret[n > 0 ? n : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	return ret;
}

/* The name alone is too often "localhost", and images are copied with their machine-id. */
static void name_host(char ret[17])
{
	struct sbx_sha256 hash = SBX_SHA256_INIT;
	char id[64], name[65] = "", hex[SBX_SHA256_HEX];

	read_line("/etc/machine-id", id, sizeof(id));
	gethostname(name, sizeof(name) - 1);
	sbx_sha256_add(&hash, id, strlen(id) + 1);
	sbx_sha256_add(&hash, name, strlen(name));
	sbx_sha256_hex(&hash, hex);
	snprintf(ret, 17, "%.16s", hex);
}

static void name_space(const char *which, char ret[24])
{
	char path[64], link[32] = "";
	unsigned long long inode = 0;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", which);
	if (readlink(path, link, sizeof(link) - 1) > 0 && strchr(link, '[') != NULL)
		inode = strtoull(strchr(link, '[') + 1, NULL, 10);
	snprintf(ret, 24, "%llu", inode);
}

/* Numbers of processes are those of a pid namespace, and times those of a time namespace. */
static void name_spaces(char ret[48])
{
	char pid[24], time[24];

	name_space("pid", pid);
	name_space("time", time);
	snprintf(ret, 48, "%s.%s", pid, time);
}

/* Field 22 of proc(5) stat, behind a name that may have anything in it; 0: not readable. */
static unsigned long long start_of(long pid)
{
	char path[64], line[1024], *at;
	unsigned long long start = 0;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	at = strrchr(read_line(path, line, sizeof(line)), ')');
	if (at == NULL ||
	    sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &start) != 1)
		return 0;
	return start;
}

static void know_machine(struct owner *o)
{
	name_host(o->host);
	read_line("/proc/sys/kernel/random/boot_id", o->boot, sizeof(o->boot));
	name_spaces(o->spaces);
}

const char *engine_owner_format(char ret[ENGINE_OWNER_MAX])
{
	struct owner me = {.pid = getpid(), .start = start_of(getpid())};

	know_machine(&me);
	ret[0] = '\0';
	if (me.boot[0] != '\0' && me.start != 0)
		snprintf(ret, ENGINE_OWNER_MAX, VERSION "/%s/%s/%s/%ld/%llu", me.host, me.boot,
			 me.spaces, me.pid, me.start);
	return ret;
}

static bool parse(const char *text, struct owner *ret)
{
	int end = 0;

	return strlen(text) < ENGINE_OWNER_MAX &&
	       sscanf(text, VERSION "/%16[0-9a-f]/%39[0-9a-f-]/%47[0-9.]/%ld/%llu%n", ret->host,
		      ret->boot, ret->spaces, &ret->pid, &ret->start, &end) == 5 &&
	       text[end] == '\0' && ret->pid > 0 && ret->pid <= 0x7fffffff && ret->start > 0;
}

/* /proc may hide other users' processes; kill(2) does not. */
static bool is_running(const struct owner *o)
{
	unsigned long long start;

	if (kill((pid_t)o->pid, 0) < 0 && errno == ESRCH)
		return false;
	start = start_of(o->pid);
	return start == 0 || start == o->start;
}

enum engine_owner_state engine_owner_judge(const char *text)
{
	struct owner here = {0}, o = {0};

	know_machine(&here);
	if (!parse(text, &o) || here.boot[0] == '\0' || strcmp(o.host, here.host) != 0)
		return ENGINE_OWNER_UNKNOWN;
	if (strcmp(o.boot, here.boot) != 0)
		return ENGINE_OWNER_EARLIER;
	if (strcmp(o.spaces, here.spaces) != 0)
		return ENGINE_OWNER_UNKNOWN;
	return is_running(&o) ? ENGINE_OWNER_RUNS : ENGINE_OWNER_GONE;
}
