/* SPDX-License-Identifier: MIT */
/* The inside of a session, for core alone; users see llmsandbox/session.h. */
#pragma once

#include "backend/backend.h"
#include "core/artifacts.h"
#include "core/kernels.h"
#include "core/libraries.h"
#include "core/link.h"
#include "core/network.h"

#include <llmsandbox/session.h>

#include <pthread.h>
#include <stdatomic.h>

#define SBX_GRACE_MS 5000 /* what the agent gets to end something before we end it all */

/* Whose turn it is; see turn.c. */
struct sbx_turn {
	pthread_mutex_t lock;	/* of what follows, and of background processes' results */
	pthread_cond_t changed; /* by the monotonic clock */
	bool taken;		/* somebody drives the link */
	unsigned int waiting;	/* operations that want to */
	bool keeper_runs, closing;
	pthread_t keeper;
};

struct sbx_session {
	struct sbx_turn turn;
	const struct sbx_spec *spec;
	struct sbx_place *place;
	struct sbx_link link;
	struct sbx_session_network network;
	struct wire_setup setup;
	struct sbx_report report;
	unsigned int runs;
	uint64_t opened_ns;  /* when, by the clock */
	uint64_t ends_ns;    /* when its life is over; 0: never */
	uint64_t create_ns;  /* until the agent was ready; told in the first result */
	uint64_t greeting_ns; /* of them, spent waiting within an operation */
	struct sbx_place_usage told; /* by the agent, where it can look; by the turn */
	uint64_t earlier_peak;	     /* of what was told, before the run under way */
	bool greeted;	      /* the agent is ready, and the report has its fences */
	unsigned int caches; /* bit n: the warm cache of language n is shown inside */
	atomic_bool broken;  /* the stream cannot be used any more */
	char loss[200];	     /* why, as far as the backend knows, once it has been asked: by the turn */
	bool loss_known;
	struct sbx_libraries libraries;
	struct sbx_session_artifacts artifacts; /* by the turn, but folders */
	int image_fd;	      /* keeps an image of ours from being removed; -1: there is none */
	char **image_env;     /* what it sets for programs; owned, or NULL: the place knows */
	char *_Atomic support; /* see core/support.h; owned; NULL: not inside yet */
	struct sbx_kernels kernels;
	struct sbx_process *processes; /* in the background; guarded by turn.lock */
};

/*
 * Wait until the agent is ready, or fail with the reason why it never will be. Whoever is about
 * to read from the stream calls it; what is to be sent can be queued before, so that the first
 * program starts as soon as there is somebody to start it.
 */
int sbx_session_greet(struct sbx_session *session, struct sbx_cancel *cancel, struct sbx_error *err);

/*
 * Take the session's turn, for whatever speaks over its stream: waits for the operation before,
 * and fails when the session is over. sbx_session_end() gives it back; r and err are what the
 * operation came to, because after a broken protocol the session is over.
 */
int sbx_session_begin(struct sbx_session *session, struct sbx_error *err);
/* As that; SBX_E_UNAVAILABLE when it is cancelled (sbx_cancel_kill) before its turn comes. */
int sbx_session_begin_for(struct sbx_session *session, struct sbx_cancel *cancel,
			  struct sbx_error *err);
void sbx_session_end(struct sbx_session *session, int r, const struct sbx_error *err);

/*
 * The stream has ended: why, in the backend's words, or "". With the turn; the first time the backend is
 * asked, which may take seconds where it does not answer.
 */
const char *sbx_session_loss(struct sbx_session *session);

/* SBX_E_UNAVAILABLE, and why. With the turn. */
int sbx_session_fail_lost(struct sbx_session *session, struct sbx_error *err);

/* Whether the session can go on: SBX_E_TIMEOUT when its life is over, SBX_E_UNAVAILABLE … */
int sbx_session_check(const struct sbx_session *session, struct sbx_error *err);

/*
 * What the sandbox has cost, as far as its place or its agent knows; a reset forgets the peak so far.
 * With the session's turn.
 */
void sbx_session_usage(const struct sbx_session *session, struct sbx_place_usage *ret);
void sbx_session_usage_reset(struct sbx_session *session);

/* What background processes have left when the session is closed. */
void sbx_processes_free(struct sbx_session *session);

/* From now on the link is driven between operations too, by a thread of the session's own. */
int sbx_session_keep(struct sbx_session *session, struct sbx_error *err);
void sbx_session_stop_keeping(struct sbx_session *session);

int sbx_turn_init(struct sbx_turn *turn, struct sbx_error *err);
void sbx_turn_done(struct sbx_turn *turn);

/* What the image sets for programs, "NAME=value", or NULL; and where its tools are looked for. */
const char *const *sbx_session_image_env(const struct sbx_session *session);
const char *sbx_session_tool_path(const struct sbx_session *session);

/* Where the compiler's files go: /tmp where the sandbox has one of its own. */
const char *sbx_session_scratch(const struct sbx_session *session);
