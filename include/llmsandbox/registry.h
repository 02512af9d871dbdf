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
	uint64_t idle_ms;      /* without an operation; 0: 10 minutes */
	uint64_t lifetime_ms;  /* of each; 0: 1 hour */
};

/* A session as others see it. */
struct sbx_session_info {
	char id[40];
	char label[64];	    /* what its maker called it, or "" */
	char language[16];  /* what it was made for, or "" */
	uint64_t created;   /* seconds since 1970 */
	uint64_t idle_ms;   /* since its last operation ended; 0 while one runs */
	uint64_t expires_in_ms; /* when it ends if nobody uses it */
	uint64_t operations;	/* so far */
	bool busy;
};

SBX_API int sbx_registry_new(const struct sbx_registry_limits *limits, struct sbx_registry **ret,
			     struct sbx_error *err);

/* Ends every session; waits for those that somebody holds, whose operations are killed. */
SBX_API void sbx_registry_free(struct sbx_registry *registry);

/* What may differ from one session to the next. Zero it, set what you need. */
struct sbx_registry_open {
	const struct sbx_spec *spec; /* taken over: the registry frees it, also on failure */
	const char *label;	     /* or NULL; need not be unique */
	const char *language;	     /* or NULL; for the list alone */
	const char *owner;	     /* or NULL; list and acquire of another owner do not see it */
	uint64_t idle_ms, lifetime_ms; /* 0: the registry's; else not more than those */
};
/* Open a session; *ret_info has its id. SBX_E_LIMIT when there are too many. */
SBX_API int sbx_registry_open(struct sbx_registry *registry, const struct sbx_registry_open *how,
			      struct sbx_session_info *ret_info, struct sbx_error *err);

/*
 * Use a session, by its id (or, where owner is given, by its label): it does not end until it is
 * released, except by its lifetime. SBX_E_NOT_FOUND says whether it expired, as far as is known.
 */
SBX_API int sbx_registry_acquire(struct sbx_registry *registry, const char *owner, const char *id,
				 struct sbx_session **ret, struct sbx_error *err);
SBX_API void sbx_registry_release(struct sbx_registry *registry, struct sbx_session *session);

/* Those of an owner (NULL: all), oldest first; free() *ret. */
SBX_API int sbx_registry_list(struct sbx_registry *registry, const char *owner,
			      struct sbx_session_info **ret, size_t *ret_count,
			      struct sbx_error *err);

/* End one; operations that run in it are killed first. SBX_E_NOT_FOUND. */
SBX_API int sbx_registry_close(struct sbx_registry *registry, const char *owner, const char *id,
			       struct sbx_error *err);

/* End all of an owner: a client that went away. */
SBX_API void sbx_registry_close_owner(struct sbx_registry *registry, const char *owner);

#ifdef __cplusplus
}
#endif

#endif
