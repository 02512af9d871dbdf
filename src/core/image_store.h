/* SPDX-License-Identifier: MIT */
/*
 * Where images for the native backend are kept, below the cache folder (base/cache.h):
 *
 *	images/NAME/root/	the root file system: files of ours, and nobody else can write to them
 *	images/NAME/image.json	what it is; there is an image when this file is there
 *	images/.lock-NAME	held by whoever makes or removes NAME
 *	images/.new-NAME/	half-made; whoever gets the lock of NAME may throw it away
 *	images/.old-NAME/	on its way out, in the same way
 *
 *	images/.used-*		was replaced while sandboxes use it; gone when they are and the next is made
 *
 * A sandbox holds a shared lock of the root that it uses; whoever gets it alone may throw the root away.
 * All of it may be deleted by hand at any time; sandboxes that use it lose it then.
 */
#pragma once

#include "base/error.h"

#include <llmsandbox/image.h>

#include <limits.h>

struct sbx_image_store {
	int fd; /* of images/ */
	char path[PATH_MAX];
};

int sbx_image_store_open(struct sbx_image_store *ret, struct sbx_error *err);
void sbx_image_store_close(struct sbx_image_store *store);

/* 0 when an image can have this name: a letter or digit, then those and "._-", 64 at most. */
int sbx_image_check_name(const char *name, struct sbx_error *err);

/* Whether an image is named as a folder: "/x", "./x", "../x". */
bool sbx_image_is_folder(const char *image);

/*
 * The root of an image that is named or a folder, absolute and without links; free() *ret.
 * SBX_E_NOT_FOUND; SBX_E_INVALID for the root of this machine.
 */
int sbx_image_find_root(const char *image, char **ret, struct sbx_error *err);

/*
 * Whether a folder of ours can be shown at this place, below /opt: the image has one there, or nothing that is
 * in its way.
 */
bool sbx_image_has_room(const char *root, const char *inside);

/*
 * For as long as *ret_fd is open nobody takes the image away; -1 for a folder, which is its owner's.
 * As with sbx_image_find_root().
 */
int sbx_image_use(const char *image, char **ret_root, int *ret_fd, struct sbx_error *err);

/*
 * The variables that an image sets for programs, as sbx_image_env_make() has them, or NULL for none;
 * environment is one of micromamba, or NULL.
 */
int sbx_image_find_env(const char *image, const char *environment, char ***ret,
		       struct sbx_error *err);

/* What identifies the contents of an image that is named, by its record; false: nothing does. */
bool sbx_image_find_id(const char *image, char *ret, size_t size);

/* Take the lock of a name; SBX_E_UNAVAILABLE at once when somebody has it. */
int sbx_image_lock(const struct sbx_image_store *store, const char *name, int *ret_fd,
		   struct sbx_error *err);

/* Under the lock: an empty folder to make the root in, and what is left of others thrown away. */
int sbx_image_stage(const struct sbx_image_store *store, const char *name, int *ret_root_fd,
		    struct sbx_error *err);
void sbx_image_unstage(const struct sbx_image_store *store, const char *name);

/*
 * Under the lock: what was staged is the image now, in place of the one before. env are the variables
 * that it sets, NULL-terminated, or NULL.
 */
int sbx_image_publish(const struct sbx_image_store *store, const struct sbx_image *image,
		      char *const *env, struct sbx_error *err);

/* Under the lock; SBX_E_UNAVAILABLE when a sandbox uses it. */
int sbx_image_discard(const struct sbx_image_store *store, const char *name, struct sbx_error *err);

int sbx_image_read(const struct sbx_image_store *store, const char *name, struct sbx_image **ret,
		   struct sbx_error *err);

/* Bytes that may still be written where images are kept. */
uint64_t sbx_image_free_bytes(int fd);

/* An empty one of this name, or NULL without memory. */
struct sbx_image *sbx_image_new(const char *name, const char *where, const char *source);
