/* SPDX-License-Identifier: MIT */
/*
 * What a sandbox could leave on the machine, counted before and after.
 *
 * Processes, and the namespaces they are in, are counted where they descend from the test; it
 * adopts the orphans of what it kills, so none escapes the count. Cgroups are the machine's, and
 * what others do shows too: these tests run alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum census_kind {
	CENSUS_PROCESSES,
	CENSUS_NAMESPACES,
	CENSUS_MOUNTS,
	CENSUS_CGROUPS,
	CENSUS_FILES, /* in /tmp, /dev/shm and the runtime folder */
	CENSUS_SHARED_MEMORY,
	CENSUS_DESCRIPTORS,
	CENSUS_KINDS
};

struct census {
	size_t count[CENSUS_KINDS];
};

/*
 * Call it first: orphans of our children become our children, and as root we get a /tmp and a
 * runtime folder of our own, so that what others do there is not counted.
 */
void census_begin(void);

void census_take(struct census *ret);

/* Wait at most timeout_ms until no process is more than there was; fails the test then. */
void census_expect_processes(const struct census *before, unsigned int timeout_ms);

/* Wait at most timeout_ms until nothing is more than it was; fails the test then, by name. */
void census_expect(const struct census *before, unsigned int timeout_ms);

/* The processes whose ancestor is root, at most max of them; how many. */
size_t census_descendants(pid_t root, pid_t *ret, size_t max);

/* Whether a process that descends from the test has this text in its command line. */
bool census_runs(const char *text);

/* The parent of a process, or 0 when there is no such process. */
pid_t census_parent(pid_t pid);
