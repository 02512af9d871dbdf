/* SPDX-License-Identifier: MIT */
/*
 * Installs libraries in a sandbox made for that alone, and copies what came of it out. The
 * package manager's code, and the libraries' own, run there and nowhere else.
 */
#pragma once

#include "backend/spec.h"
#include "base/error.h"
#include "core/toolchain.h"
#include "lang/lang.h"

#include <llmsandbox/library.h>

struct sbx_libraries;
struct sbx_tools;

struct sbx_build {
	const struct sbx_lang *lang;
	const struct sbx_tools *tools; /* NULL: this machine's */
	const char *const *requirements;  /* checked, sorted */
	const char *final;		  /* where the set will be seen by programs */
	uint64_t deadline_ns;
	sbx_install_fn *on_progress;
	void *userdata;
	struct sbx_cancel *cancel;
	struct sbx_libraries *owner; /* of the session that it is for, or NULL */
};

struct sbx_built {
	struct sbx_lang_package *packages; /* free() it */
	size_t package_count;
	char version[SBX_VERSION_MAX]; /* of an image's tool chain; "": it does not tell */
};

/*
 * Make the folder `to` with the set in it. SBX_E_DENIED has the installer's own message.
 */
int sbx_library_build(const struct sbx_build *build, const char *to, struct sbx_built *ret,
		      struct sbx_error *err);
