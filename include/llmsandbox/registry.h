/* SPDX-License-Identifier: MIT */
/*
 * The open sessions of a program that serves others: looked up by id, ended when they were idle
 * too long, when their life is over, or when somebody asks. Ids are 128 random bits and so cannot
 * be guessed: who has one may use the session. Any thread.
 */
#ifndef LLMSANDBOX_REGISTRY_H
#define LLMSANDBOX_REGISTRY_H

#include <llmsandbox/error.h>
#include <llmsandbox/session.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sbx_registry;

struct sbx_registry_limits {
	size_t most;	       /* sessions at one time; 0: 100 */
	uint64_t idle_ms;      /* without an operation; 0: 10 minutes; SBX_TIMEOUT_NONE: no end */
	uint64_t lifetime_ms;  /* of each; 0: 1 hour; SBX_TIMEOUT_NONE: no end */
};

/* A session as others see it. */
struct sbx_session_info {
	char id[40];
	char label[64];	    /* what its maker called it, or "" */
	char language[16];  /* what it was made for, or "" */
	uint64_t created;   /* seconds since 1970 */
	uint64_t idle_ms;   /* since its last operation ended; 0 while one runs */
	uint64_t expires_in_ms; /* when it ends if nobody uses it; SBX_TIMEOUT_NONE: never */
	uint64_t lifetime_left_ms; /* when it ends however it is used; or SBX_TIMEOUT_NONE */
	uint64_t operations;	/* so far */
	bool busy;
};

SBX_API int sbx_registry_new(const struct sbx_registry_limits *limits, struct sbx_registry **ret,
			     struct sbx_error *err);

/*
 * Ends every session; waits for those that somebody holds, whose operations are killed. Nobody may
 * begin to use the registry any more; what is under way ends with an error. NULL is allowed.
 */
SBX_API void sbx_registry_free(struct sbx_registry *registry);

/* What may differ from one session to the next. Zero it, set what you need. */
struct sbx_registry_open {
	struct sbx_spec *spec; /* taken over: the registry frees it, also on failure */
	const char *label;     /* or NULL; at most 63 bytes; need not be unique */
	const char *language;  /* or NULL; for the list alone */
	const char *owner;     /* or NULL; at most 63 bytes; other owners do not see it */
	uint64_t idle_ms, lifetime_ms; /* 0: the registry's; of more than that, that is taken */
};

/*
 * Open a session; *ret_info (may be NULL) has its id. Its life is also that of the spec's
 * SBX_LIMIT_SESSION_MS. SBX_E_LIMIT when there are too many.
 */
SBX_API int sbx_registry_open(struct sbx_registry *registry, const struct sbx_registry_open *how,
			      struct sbx_session_info *ret_info, struct sbx_error *err);

/*
 * Use a session, by its id (or, where owner is given, by the label that it alone or as the newest
 * has): it does not end until it is released, except by its lifetime or sbx_registry_close(). An
 * owner of NULL sees all. SBX_E_NOT_FOUND says whether it expired, as far as is known.
 */
SBX_API int sbx_registry_acquire(struct sbx_registry *registry, const char *owner, const char *id,
				 struct sbx_session **ret, struct sbx_error *err);
SBX_API void sbx_registry_release(struct sbx_registry *registry, struct sbx_session *session);

/*
 * The same, alone: waits until nobody else holds it alone, in the order of asking, until cancel
 * (may be NULL) is killed. SBX_E_UNAVAILABLE: it was; or too many wait for this session. When the
 * session ends while it is held, cancel is killed, for what goes on outside the sandbox.
 */
SBX_API int sbx_registry_acquire_alone(struct sbx_registry *registry, const char *owner,
				       const char *id, struct sbx_cancel *cancel,
				       struct sbx_session **ret, struct sbx_error *err);
SBX_API void sbx_registry_release_alone(struct sbx_registry *registry,
					struct sbx_session *session);

/*
 * Whether a session that is held has ended meanwhile, for when an operation failed or was lost:
 * 0, or the reason: SBX_E_TIMEOUT (its life was over), SBX_E_UNAVAILABLE (somebody closed it).
 */
SBX_API int sbx_registry_check(struct sbx_registry *registry, const struct sbx_session *session,
			       struct sbx_error *err);

/* Those of an owner (NULL: all), oldest first; free() *ret. */
SBX_API int sbx_registry_list(struct sbx_registry *registry, const char *owner,
			      struct sbx_session_info **ret, size_t *ret_count,
			      struct sbx_error *err);

/*
 * End one, and wait until nothing of it is left: operations that run in it are killed, so whoever
 * holds it must not be the one who waits. SBX_E_NOT_FOUND as above.
 */
SBX_API int sbx_registry_close(struct sbx_registry *registry, const char *owner, const char *id,
			       struct sbx_error *err);

/* End all of an owner, a client that went away. Does not wait for the end. */
SBX_API void sbx_registry_close_owner(struct sbx_registry *registry, const char *owner);

#ifdef __cplusplus
}
#endif

#endif
