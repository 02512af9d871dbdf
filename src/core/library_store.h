/* SPDX-License-Identifier: MIT */
/*
 * Where library sets are kept, below the cache folder (base/cache.h):
 *
 *	libraries/lock		held for the moments in which sets come and go
 *	libraries/index/ID.json	what a set is; there is a set when this file is there
 *	libraries/index/ID.files its files and their hashes
 *	libraries/index/ID.lock	shared: somebody uses it; exclusive: it is being made or removed.
 *				Its time is when the set was last used
 *	libraries/index/NAME.name there is a folder of this name among the sets; of one that an engine
 *				keeps (library_shelf.h) the ID and the record stand in it
 *	libraries/sets/NAME/	the files. Sandboxes see `sets` as a whole, so that a set made
 *				later is there at once; they cannot list it, and NAME is random
 *	libraries/new/ID/	half-built; whoever gets the lock of ID may throw it away.
 *				Sets on their way out are there too, as NAME
 *
 * Of sets that an engine keeps there is what stands in the index alone.
 *
 * ID is a hash of the language, the tool chain and the requirements. All of it may be deleted
 * at any time. What stands in these files came out of sandboxes in part.
 */
#pragma once

#include "base/error.h"

#include <llmsandbox/library.h>

#include <limits.h>

#define SBX_STORE_ID   17 /* 16 digits and a NUL */
#define SBX_STORE_NAME 33

struct sbx_store {
	int fd, index_fd;
	char path[PATH_MAX];
};

/* A set that is there: what it is, and the name of its folder in `sets`. */
struct sbx_stored {
	struct sbx_library_set *set; /* owned */
	char name[SBX_STORE_NAME];
};

/* Make the store where there is none. */
int sbx_store_open(struct sbx_store *ret, struct sbx_error *err);
void sbx_store_close(struct sbx_store *store);

/* The path of `sets` on this machine, which the caller frees; NULL: there is no store. */
char *sbx_store_sets(void);

/* The ID of what these three name. */
void sbx_store_id(const char *language, const char *tool_chain, const char *const *requirements,
		  char ret[SBX_STORE_ID]);

/* 128 random bits for the name of a folder. */
int sbx_store_new_name(char ret[SBX_STORE_NAME], struct sbx_error *err);

/* Read what a set is. SBX_E_NOT_FOUND when it is not there or not whole. */
int sbx_store_read(const struct sbx_store *store, const char *id, struct sbx_stored *ret,
		   struct sbx_error *err);

/* A folder to build in, new/ID; its path is the caller's. The lock is held alone. */
int sbx_store_stage(const struct sbx_store *store, const char *id, char **ret,
		    struct sbx_error *err);

/*
 * Seal what is in staging/set, note its files, and make it the set: here, or with the engine that is to keep
 * it. Fills in bytes, made and used. The lock is held alone.
 */
int sbx_store_publish(const struct sbx_store *store, const char *staging, const char *name,
		      struct sbx_library_set *set, struct sbx_cancel *cancel, struct sbx_error *err);

/* Throw away a staging folder. The lock is held alone. */
void sbx_store_unstage(const struct sbx_store *store, const char *id);

/* Remove a set. SBX_E_NOT_FOUND; SBX_E_UNAVAILABLE when the engine that keeps it is not there. */
int sbx_store_remove(const struct sbx_store *store, const char *id, struct sbx_error *err);

/* The set has lost the folder of this name: it is no set any more. */
void sbx_store_forget(const struct sbx_store *store, const char *id, const char *name);

/* All that are there, in no order; free each with sbx_library_set_free() and the list. */
int sbx_store_list(const struct sbx_store *store, struct sbx_library_set ***ret, size_t *ret_count,
		   struct sbx_error *err);

/* Compare the files with those that were noted. SBX_E_DENIED names the first that differs. */
int sbx_store_verify(const struct sbx_store *store, const char *id, struct sbx_error *err);

/*
 * Throw away what was left half-built or has no record, and the sets that were not used for longest until the
 * rest is within the cap; none that somebody uses. Of the sets that engines keep only those of this engine are
 * looked after, or with NULL none.
 */
void sbx_store_sweep(const struct sbx_store *store, const char *engine);
