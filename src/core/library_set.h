/* SPDX-License-Identifier: MIT */
/* One set, found or made, for those who use it. */
#pragma once

#include "base/error.h"
#include "lang/lang.h"

#include <llmsandbox/library.h>

#define SBX_INSTALL_MS 600000u /* how->timeout_ms 0 */

struct sbx_backend;
struct sbx_libraries;

/* The tool chain of an image. */
struct sbx_tools {
	const struct sbx_backend *backend; /* that installs */
	const char *image;	 /* that it is to take for that */
	const char *environment; /* of micromamba, in it; or NULL */
	const char *name;	 /* of the image, for records */
	const char *title;	 /* and as its user calls it */
	const char *key;	 /* what is another where the tools are others */
	const char *engine;	 /* that keeps the set itself (backend.h), its address; or NULL */
};

struct sbx_set_request {
	const struct sbx_lang *lang;
	char **requirements; /* of sbx_requirements_join() */
	/* Whose tool chain it is for; NULL: this machine's. Else all of these: */
	const struct sbx_tools *tools;
	const char *folder; /* where programs see the sets; NULL: where most do */
	const struct sbx_install *how; /* the rest of it */
	struct sbx_libraries *owner;   /* of the session that it is for, or NULL */
};

/* A set that stays while lock_fd is open. */
struct sbx_lease {
	struct sbx_library_set *set; /* owned */
	char name[33];		     /* of its folder among the sets */
	int lock_fd;
};

/* Those of before and those that are wanted, checked, sorted, each once. */
int sbx_requirements_join(const struct sbx_lang *lang, char *const *before,
			  const char *const *wanted, char ***ret, struct sbx_error *err);

int sbx_set_acquire(const struct sbx_set_request *request, struct sbx_lease *ret,
		    struct sbx_error *err);
