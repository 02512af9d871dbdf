/* SPDX-License-Identifier: MIT */
/*
 * Which regular files were made, written or renamed since a moment of the agent's clock: in the
 * work folder, and in /sandbox/output where that is elsewhere. What is ours, what compilers keep,
 * and what the host itself put is left out.
 */
#pragma once

#include "core/session.h"

#include <llmsandbox/result.h>

#include <limits.h>

struct sbx_changed_file {
	char *path; /* below the work folder, or absolute; owned */
	uint64_t size, ctime_ns;
};

/* All zero is an empty one. */
struct sbx_changes {
	struct sbx_changed_file *files;
	size_t count, capacity;
	bool truncated; /* there are more, or not all could be looked at */
};

/*
 * With the session's turn taken. A tree that is too large, a time that is over, or a sandbox that
 * is gone makes it truncated and is no error; -code when the session is broken.
 */
int sbx_changes_find(struct sbx_session *session, uint64_t since_ns, uint64_t deadline_ns,
		     struct sbx_cancel *cancel, struct sbx_changes *ret, struct sbx_error *err);
void sbx_changes_done(struct sbx_changes *changes);

/* The absolute path of one inside. */
int sbx_changes_path(const struct sbx_session *session, const char *path, char ret[PATH_MAX],
		     struct sbx_error *err);

/* Hand the first ones, by path, over to the result. */
int sbx_changes_tell(struct sbx_changes *changes, struct sbx_result *result,
		     struct sbx_error *err);
