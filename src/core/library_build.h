/* SPDX-License-Identifier: MIT */
/*
 * Installs libraries in a sandbox made for that alone, and copies what came of it out. The
 * package manager's code, and the libraries' own, run there and nowhere else.
 */
#pragma once

#include "backend/spec.h"
#include "base/error.h"
#include "lang/lang.h"

#include <llmsandbox/library.h>

struct sbx_libraries;

struct sbx_build {
	const struct sbx_lang *lang;
	const struct sbx_backend *backend; /* NULL: the default */
	const char *image; /* to install in, or NULL */
	const char *const *requirements;  /* checked, sorted */
	const char *final;		  /* where the set will be seen by programs */
	uint64_t deadline_ns;
	sbx_install_fn *on_progress;
	void *userdata;
	struct sbx_cancel *cancel;
	struct sbx_libraries *owner; /* of the session that it is for, or NULL */
};

/*
 * Make the folder `to` with the set in it, and the list of what was installed, free() each and
 * the list. SBX_E_DENIED has the installer's own message.
 */
int sbx_library_build(const struct sbx_build *build, const char *to, struct sbx_lang_package **ret,
		      size_t *ret_count, struct sbx_error *err);
