/* SPDX-License-Identifier: MIT */
#include "support/census.h"

#include "base/clock.h"
#include "support/sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROCESSES_MAX  32768
#define NAMESPACES_MAX 4096

static const char *const kind_names[CENSUS_KINDS] = {
	"processes", "namespaces", "mounts", "cgroups", "files", "shared memory", "descriptors"};

static size_t count_entries(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t n = 0;

	if (dir == NULL)
		return 0;
	while ((entry = readdir(dir)) != NULL)
		n += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	closedir(dir);
	return n;
}

static size_t count_lines(const char *path)
{
	FILE *f = fopen(path, "re");
	size_t n = 0;
	int c;

	if (f == NULL)
		return 0;
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

/* ---- processes ---- */

static size_t list_processes(pid_t *ret, size_t max)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL && n < max) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0)
			ret[n++] = pid;
	}
	closedir(dir);
	return n;
}

/* Of /proc/PID/stat: the state and the parent; false when there is no such process. */
static bool read_stat(pid_t pid, char *ret_state, pid_t *ret_parent)
{
	char path[64], text[512] = "";
	const char *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	if (fgets(text, sizeof(text), f) == NULL)
		text[0] = '\0';
	fclose(f);
	end = strrchr(text, ')');
	return end != NULL && sscanf(end + 1, " %c %d", ret_state, ret_parent) == 2;
}

pid_t census_parent(pid_t pid)
{
	pid_t parent;
	char state;

	return read_stat(pid, &state, &parent) ? parent : 0;
}

static bool is_zombie(pid_t pid)
{
	pid_t parent;
	char state;

	return read_stat(pid, &state, &parent) && state == 'Z';
}

static bool descends_from(pid_t pid, pid_t root)
{
	for (int depth = 0; depth < 64 && pid > 1; depth++) {
		pid = census_parent(pid);
		if (pid == root)
			return true;
	}
	return false;
}

size_t census_descendants(pid_t root, pid_t *ret, size_t max)
{
	static _Thread_local pid_t all[PROCESSES_MAX];
	size_t count = list_processes(all, PROCESSES_MAX), n = 0;

	for (size_t i = 0; i < count && n < max; i++) {
		if (descends_from(all[i], root))
			ret[n++] = all[i];
	}
	return n;
}

/* As one text, its words apart by spaces. */
static bool has_in_command_line(pid_t pid, const char *text)
{
	char path[64], line[4096];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	len = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	for (size_t i = 0; i < len; i++)
		line[i] = line[i] == '\0' ? ' ' : line[i];
	line[len] = '\0';
	return strstr(line, text) != NULL;
}

bool census_runs(const char *text)
{
	static pid_t pids[PROCESSES_MAX];
	size_t count = census_descendants(getpid(), pids, PROCESSES_MAX);

	for (size_t i = 0; i < count; i++) {
		if (has_in_command_line(pids[i], text))
			return true;
	}
	return false;
}

/* ---- namespaces ---- */

static const char *const namespace_kinds[] = {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"};

#define KINDS (sizeof(namespace_kinds) / sizeof(namespace_kinds[0]))

/* The inode number of a process's namespace; 0 when it cannot be seen. */
static ino_t namespace_of(pid_t pid, const char *kind)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kind);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

struct namespaces {
	ino_t seen[NAMESPACES_MAX];
	size_t count;
};

static void note_namespace(struct namespaces *n, ino_t ino)
{
	for (size_t i = 0; i < n->count; i++) {
		if (n->seen[i] == ino)
			return;
	}
	if (n->count < NAMESPACES_MAX)
		n->seen[n->count++] = ino;
}

/* Those of one process that are not ours. */
static void note_namespaces(struct namespaces *foreign, pid_t pid)
{
	for (size_t k = 0; k < KINDS; k++) {
		ino_t ino = namespace_of(pid, namespace_kinds[k]);

		if (ino != 0 && ino != namespace_of(getpid(), namespace_kinds[k]))
			note_namespace(foreign, ino);
	}
}

/* A zombie holds nothing; one that we adopted stays until we end. */
static void count_processes(struct census *ret)
{
	static pid_t ours[PROCESSES_MAX];
	static struct namespaces foreign;
	size_t count = census_descendants(getpid(), ours, PROCESSES_MAX);

	foreign.count = 0;
	for (size_t i = 0; i < count; i++) {
		if (is_zombie(ours[i]))
			continue;
		ret->count[CENSUS_PROCESSES]++;
		note_namespaces(&foreign, ours[i]);
	}
	ret->count[CENSUS_NAMESPACES] = foreign.count;
}

/* ---- cgroups, files ---- */

static size_t cgroups;

static int count_cgroup(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)where;
	cgroups += type == FTW_D && strstr(path, "/llm-sandbox/") != NULL;
	return 0;
}

static size_t count_runtime_files(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char path[PATH_MAX];

	if (geteuid() == 0)
		snprintf(path, sizeof(path), "/run/llm-sandbox");
	else
		snprintf(path, sizeof(path), "%s/llm-sandbox", runtime ? runtime : "/nonexistent");
	return count_entries(path);
}

/* The program under test may lie in the /tmp that we are about to hide. */
static void keep_program(void)
{
	const char *program = getenv("SBX_PROGRAM");
	char path[32];
	int fd = program ? open(program, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(setenv("SBX_PROGRAM", path, 1), 0);
}

void census_begin(void)
{
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	if (geteuid() != 0)
		return;
	keep_program();
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	mkdir("/run/llm-sandbox", 0700);
	assert_int_equal(mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777"), 0);
	assert_int_equal(mount("tmpfs", "/run/llm-sandbox", "tmpfs", 0, "mode=0700"), 0);
}

void census_take(struct census *ret)
{
	memset(ret, 0, sizeof(*ret));
	count_processes(ret);
	ret->count[CENSUS_MOUNTS] = count_lines("/proc/self/mountinfo");
	cgroups = 0;
	nftw("/sys/fs/cgroup", count_cgroup, 16, FTW_PHYS);
	ret->count[CENSUS_CGROUPS] = cgroups;
	ret->count[CENSUS_FILES] =
		count_entries("/tmp") + count_entries("/dev/shm") + count_runtime_files();
	ret->count[CENSUS_SHARED_MEMORY] =
		count_lines("/proc/sysvipc/shm") + count_lines("/proc/sysvipc/sem");
	ret->count[CENSUS_DESCRIPTORS] = count_entries("/proc/self/fd");
}

/* The first of the first `kinds` kinds of which there is more than before, or kinds. */
static int find_more(const struct census *before, const struct census *now, int kinds)
{
	int k = 0;

	while (k < kinds && now->count[k] <= before->count[k])
		k++;
	return k;
}

static void expect_kinds(const struct census *before, int kinds, unsigned int timeout_ms)
{
	uint64_t deadline_ns = sbx_deadline_ns(timeout_ms);
	struct census now;
	int more;

	/* The kernel takes namespaces down in its own time and has no event to wait for. */
	do {
		census_take(&now);
		more = find_more(before, &now, kinds);
		if (more == kinds)
			return;
		usleep(20000);
	} while (sbx_now_ns() < deadline_ns);
	fail_msg("%zu %s and not %zu", now.count[more], kind_names[more], before->count[more]);
}

void census_expect_processes(const struct census *before, unsigned int timeout_ms)
{
	expect_kinds(before, CENSUS_PROCESSES + 1, timeout_ms);
}

void census_expect(const struct census *before, unsigned int timeout_ms)
{
	expect_kinds(before, CENSUS_KINDS, timeout_ms);
}
