/* SPDX-License-Identifier: MIT */
/*
 * The plan of a native sandbox: an ordered list of typed steps with every string formatted, made
 * by the parent. The child between clone and exec only walks it, with raw system calls; a dry
 * run prints it. A plan is data: making one changes nothing on the machine.
 *
 * The new root is built at PLAN_ROOT and becomes / by STEP_PIVOT. What hides the host comes
 * first, what may be written last; STEP_SEAL makes all that stands by then read-only.
 */
#pragma once

#include "backend/spec.h"
#include "base/buf.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define PLAN_ROOT      "/tmp"
#define PLAN_STEPS_MAX 512

enum step_kind {
	STEP_PRIVATE, /* no mount made here is seen elsewhere */
	STEP_TAKE,    /* take hold of the mount `source` before the root hides it; number = its place */
	STEP_TMPFS,   /* target, text = options */
	STEP_FOLDER,  /* target, mode, uid, gid */
	STEP_FILE,    /* target, text = content, mode */
	STEP_LINK,    /* target -> source */
	STEP_BIND,    /* source (and what is mounted below) at target */
	STEP_ATTACH,  /* the mount taken under `number` at target; flags = MOUNT_ATTR_… */
	STEP_SEAL,    /* target and all below: flags = MOUNT_ATTR_… */
	STEP_PROC,    /* a fresh /proc at target, text = options */
	STEP_DEVPTS,  /* target, text = options */
	STEP_HOSTNAME, /* text */
	STEP_LOOPBACK, /* up */
	STEP_PIVOT,    /* target becomes / and the host's tree is let go */
	STEP_KIND_COUNT
};

struct step {
	enum step_kind kind;
	char *source, *target, *text; /* owned; NULL where the kind has none */
	uint64_t flags;
	uint32_t mode, uid, gid;
	size_t number;
};

struct plan {
	struct step steps[PLAN_STEPS_MAX];
	size_t count;
	char *writable[SBX_MOUNTS_MAX + 8]; /* owned; folders inside that may be written */
	size_t writable_count;
	bool failed; /* no memory, or too many steps */
};

/* A plan that the caller frees with plan_free(). */
int plan_make(const struct sbx_spec *spec, struct plan **ret, struct sbx_error *err);
void plan_free(struct plan *plan);

void plan_print(const struct plan *plan, struct sbx_buf *out);

/* "mount a fresh proc at /tmp/proc": a step as part of a sentence. */
void plan_describe(const struct step *step, struct sbx_buf *out);
