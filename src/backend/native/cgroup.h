/* SPDX-License-Identifier: MIT */
/*
 * The control group of one sandbox: memory, pids and cpu, in whatever layout the machine has.
 *
 * v2: one folder `llm-sandbox/SLOT` in the hierarchy's root (root) or beside our own group
 * (delegated). v1 and hybrid: one folder per controller, below our own group there, so that
 * limits which hold for us hold for the sandbox too. What could not be had is told per
 * controller and is no error.
 */
#pragma once

#include "backend/backend.h"
#include "backend/native/slot.h"
#include "backend/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum cgroup_controller { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU, CGROUP_CONTROLLERS };

struct cgroup_part {
	int fd;	    /* the sandbox's folder, or -1 */
	char *path; /* of it, owned */
	int problem; /* errno why there is none, or 0 */
};

struct cgroup {
	bool v2; /* then all controllers are in part[CGROUP_MEMORY] */
	bool swap_limited;
	bool pids_by_user; /* no group for pids: RLIMIT_NPROC counts the same */
	struct cgroup_part parts[CGROUP_CONTROLLERS];
};

/* "v2", "v1", "hybrid" or "none". */
const char *cgroup_layout(void);

/*
 * Make the folders and set the limits of spec. Never fails: see parts[].problem. Folders may lie
 * below the group of whoever made them, where another program does not look: each is noted in
 * the slot's file before it is made, and swept from there when its owner is gone.
 *
 * own_user: no process outside has the ids of this sandbox's programs, so that RLIMIT_NPROC, which
 * counts by user, is a limit of the sandbox; then v1 needs no group for pids.
 */
void cgroup_make(struct cgroup *ret, const struct slot *slot, const struct sbx_spec *spec,
		 bool own_user);

/*
 * How a child comes in without a pause. Moving a whole process takes a lock that waits for every
 * processor of the machine (milliseconds); being born in the group (v2, CLONE_INTO_CGROUP) or
 * moving one's own single thread (v1: "0" to `tasks`) does not.
 */
bool cgroup_takes_births(void);

/* v2: for struct clone_args; else -1. The cgroup's own. */
int cgroup_birth_fd(const struct cgroup *cg);

/*
 * The birth failed with this error. Whether the cgroup may be why: who may make a group may still
 * not come into it, which takes the right to write cgroup.procs of the nearest group above both
 * (cgroups(7)). Then the group is removed and its limits are reported as missing.
 */
bool cgroup_give_up_birth(struct cgroup *cg, int sys_errno);

/* v1: files to each of which the child writes "0"; the caller closes them. How many. */
size_t cgroup_open_doors(struct cgroup *cg, int ret[CGROUP_CONTROLLERS]);

void cgroup_usage(const struct cgroup *cg, struct sbx_place_usage *ret);
void cgroup_reset_peak(const struct cgroup *cg);
void cgroup_report(const struct cgroup *cg, const uint64_t limits[SBX_LIMIT_COUNT],
		   struct sbx_report *report);

/* Remove the folders; no process is in them any more. */
void cgroup_remove(struct cgroup *cg);

/* Remove the folders that are noted; false while a process is still in one. */
bool cgroup_sweep(int slot_fd);
