/* SPDX-License-Identifier: MIT */
/*
 * The plan of a native sandbox: an ordered list of typed steps with every string formatted, made
 * by the parent. The child between clone and exec only walks it, with raw system calls; a dry
 * run prints it. A plan is data: making one changes nothing on the machine.
 *
 * A plan with all its strings lives in one piece of memory that parent and child share, so that
 * the parent can still write it while the child, born before, does what needs no plan.
 *
 * The new root is built at PLAN_ROOT and becomes / by STEP_PIVOT. What hides the host comes
 * first, what may be written last; STEP_SEAL makes all that stands by then read-only.
 *
 * Of an image (image.h) nothing is trusted: no step makes or follows anything in what it shows.
 */
#pragma once

#include "backend/native/image.h"
#include "backend/spec.h"
#include "base/buf.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define PLAN_ROOT      "/tmp"
#define PLAN_STEPS_MAX 640
#define PLAN_TAKES_MAX (SBX_MOUNTS_MAX + IMAGE_ENTRIES_MAX) /* the image's come behind the user's */
#define PLAN_TEXT_MAX  (512u << 10) /* of all strings, with their ends */

enum step_kind {
	STEP_PRIVATE, /* no mount made here is seen elsewhere */
	STEP_TAKE,    /* take hold of `source`, no link, before the root hides it; number = its place */
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
	STEP_PIVOT,    /* target becomes / and the host's tree is let go */
	STEP_KIND_COUNT
};

struct step {
	enum step_kind kind;
	const char *source, *target, *text; /* the plan's; NULL where the kind has none */
	uint64_t flags;
	uint32_t mode, uid, gid;
	size_t number;
};

struct plan {
	struct step steps[PLAN_STEPS_MAX];
	size_t count;
	const char *writable[SBX_MOUNTS_MAX + 8]; /* folders inside that may be written */
	size_t writable_count;
	bool failed; /* too many steps, or too long ones */
	size_t text_used;
	char text[PLAN_TEXT_MAX]; /* all strings, one behind the other */
};

/* An empty plan in shared memory, for plan_make(); free it with plan_free(). */
int plan_new(struct plan **ret, struct sbx_error *err);
void plan_free(struct plan *plan);

int plan_make(struct plan *plan, const struct sbx_spec *spec, struct sbx_error *err);

void plan_print(const struct plan *plan, struct sbx_buf *out);

/* "mount a fresh proc at /tmp/proc": a step as part of a sentence. */
void plan_describe(const struct step *step, struct sbx_buf *out);
