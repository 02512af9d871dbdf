/* SPDX-License-Identifier: MIT */
/*
 * What a run, or a cell of a kernel, shows and makes, found when it has ended.
 *
 * A *folder* is where the hooks inside write (LLM_SANDBOX_ARTIFACTS): of one run, or of a kernel
 * for as long as that lives. A *collection* is one look: at what is new in the folder since the
 * look before, and at which files were written since it began.
 *
 *	r = sbx_artifact_folder_init(&folder, session, err);      its path, for the environment
 *	…
 *	sbx_collection_begin(&c, session, &folder, err);          right before EXEC, or the cell
 *	…                                                         until its end
 *	r = sbx_collection_finish(&c, result, cancel, err);       numbers, names, changed files
 *	sbx_collection_done(&c);                                  always, once begun
 *	…
 *	sbx_artifact_folder_done(&folder);
 *
 * All of a collection happens with the session's turn taken. Beginning one queues two questions
 * and waits for nothing: the folder is made, and the agent's clock read, on the way to the EXEC
 * behind them. Finishing asks, and is bounded in time: what could not be looked at is left out.
 */
#pragma once

#include "core/link.h"

#include <llmsandbox/result.h>

#include <stdbool.h>
#include <stdint.h>

/* Of the hooks: numbers have six digits. */
#define SBX_ARTIFACT_FILE_NUMBER_MAX 999999u

/* All zero is one that was not initialised: done() is allowed. */
struct sbx_artifact_folder {
	char *path;	   /* absolute, inside; owned */
	bool made;	   /* its MKDIR was queued */
	uint64_t since_ns; /* the mark of the look before; 0: none */
	/* A bit for each number of a file that an earlier look has taken; NULL: none; owned. */
	unsigned char *taken;
	unsigned int clearings; /* the session's, when it was last looked at */
};

/* Choose a folder that nothing else of the session has. Fails without memory only. */
int sbx_artifact_folder_init(struct sbx_artifact_folder *folder, struct sbx_session *session,
			     struct sbx_error *err);
void sbx_artifact_folder_done(struct sbx_artifact_folder *folder);

/* All zero is one that was not begun: done() is allowed. */
struct sbx_collection {
	struct sbx_session *session;
	struct sbx_artifact_folder *folder;
	struct sbx_channel mkdir, ping;
	struct sbx_error trouble; /* of making the folder; SBX_OK: none */
	bool marked;
	uint64_t mark_ns; /* the agent's coarse clock when it began */
};

int sbx_collection_begin(struct sbx_collection *c, struct sbx_session *session,
			 struct sbx_artifact_folder *folder, struct sbx_error *err);

/*
 * Fill in artifacts, artifacts_left_out, changes and changes_truncated. cancel ends the looking
 * early (NULL: it does not); what is found by then is kept. An error is of the session.
 */
int sbx_collection_finish(struct sbx_collection *c, struct sbx_result *result,
			  struct sbx_cancel *cancel, struct sbx_error *err);
void sbx_collection_done(struct sbx_collection *c);

/*
 * What a program with hooks is told (struct sbx_env_sources of core/env.h takes it). support is
 * sbx_support_folder(), which is asked for before the turn is taken.
 */
struct sbx_artifact_env {
	const char *support; /* or NULL: no hooks */
	const char *folder;  /* LLM_SANDBOX_ARTIFACTS; NULL: no artifacts */
	uint32_t first;	     /* LLM_SANDBOX_ARTIFACTS_FIRST: sbx_artifact_first() */
};

/* The number that the next artifact of the session will have. */
uint32_t sbx_artifact_first(const struct sbx_session *session);

/* ---- what the session keeps for it ---- */

/*
 * Files that the host itself put: in the tick of the clock in which a collection begins they
 * look as new as what a program writes.
 */
#define SBX_RECENT_MAX	   512
#define SBX_RECENT_ANY	   UINT64_MAX /* a size that is not known */

struct sbx_recent {
	uint64_t path_hash, size;
};

struct sbx_session_artifacts {
	uint32_t numbers;	/* given so far; from 0 again when they are cleared */
	_Atomic uint32_t folders; /* named so far */
	unsigned int clearings;
	struct sbx_recent *recent; /* a ring of SBX_RECENT_MAX; NULL: nothing was put; owned */
	size_t recent_at;
	uint64_t newest_ns;	/* ctime of the newest file that a collection saw … */
	struct sbx_recent *newest; /* … and the files that have it; owned */
	size_t newest_count;
};

void sbx_session_artifacts_done(struct sbx_session_artifacts *a);

/* The host put a file at this path, absolute or below the work folder. */
void sbx_artifacts_note_put(struct sbx_session *session, const char *path, uint64_t size);

/* A collection saw this file, whose path is absolute. */
void sbx_artifacts_note_seen(struct sbx_session *session, const char *path, uint64_t size,
			     uint64_t ctime_ns);

/* Whether the host put it, or the collection before saw it, as it is now. */
bool sbx_artifacts_is_known(const struct sbx_session *session, const char *path, uint64_t size,
			    uint64_t ctime_ns);
