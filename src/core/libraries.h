/* SPDX-License-Identifier: MIT */
/*
 * The library sets that a session uses. The store's folder of sets is shown to every session
 * whose spec allows libraries, from its start, so that a set which is made later is seen at once
 * and using one takes no more than variables.
 *
 * A session keeps a lock on each set that it has used until it is closed, so that none of them
 * is evicted under a program. A run asks before its turn:
 *
 *	r = sbx_libraries_use(session, lang, run->libraries, &how, &set, err);
 *	...
 *	values.set = set;	// NULL: none; valid until the session is closed
 */
#pragma once

#include "backend/spec.h"
#include "base/error.h"
#include "lang/lang.h"

#include <llmsandbox/library.h>

#include <pthread.h>
#include <stdatomic.h>

#define SBX_LIBRARIES_INSIDE "/opt/llm-sandbox/libraries"
#define SBX_USED_SETS_MAX    256u

/* A set that a session uses, or used before it got more requirements in that language. */
struct sbx_used_set {
	const struct sbx_lang *lang;
	char **requirements;
	char id[17]; /* in the store */
	char *folder; /* as programs see it */
	int lock_fd;
};

struct sbx_libraries {
	pthread_mutex_t installing; /* one installation at a time; held as long as it takes */
	pthread_mutex_t lock;	    /* of what follows, for moments */
	struct sbx_session *builder; /* the sandbox that installs for this session, or NULL */
	atomic_bool ended;	     /* the session is over: nothing is installed for it any more */
	struct sbx_used_set *used; /* room for SBX_USED_SETS_MAX; the last of a language counts */
	size_t count;
	char *folder; /* of the sets, as programs see it; NULL: not shown */
};

void sbx_libraries_init(struct sbx_libraries *libraries);
void sbx_libraries_done(struct sbx_libraries *libraries);

/* Show the store in the spec of a session that is about to be opened; the host path is owned. */
void sbx_libraries_show(struct sbx_libraries *libraries, struct sbx_spec *spec);

/*
 * Make libraries available, besides those of before; wanted may be NULL: then nothing is added.
 * how has the rest (language and requirements of it are not looked at), or is NULL. *ret is the
 * folder that a run in this language uses, or NULL. Waits for an installation; must not be
 * called with the session's turn.
 */
int sbx_libraries_use(struct sbx_session *session, const struct sbx_lang *lang,
		      const char *const *wanted, const struct sbx_install *how, const char **ret,
		      struct sbx_error *err);

/* The session is over: end what is being installed for it. Any thread; does not block. */
void sbx_libraries_end(struct sbx_libraries *libraries);

/* The sandbox that installs, from its opening until it is closed (then NULL). NULL is allowed. */
void sbx_libraries_watch(struct sbx_libraries *libraries, struct sbx_session *builder);

/* The folder of a language, or NULL; without asking for more. */
const char *sbx_libraries_folder(struct sbx_session *session, const struct sbx_lang *lang);
