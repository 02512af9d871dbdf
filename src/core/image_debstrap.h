/* SPDX-License-Identifier: MIT */
/*
 * mmdebstrap(1) as a program beside us, which writes a root file system as an archive into a pipe.
 * Where packages come from is what this machine's apt is configured to use.
 *
 *	r = sbx_debstrap_start(recipe, how, &d, err);
 *	if (r == 0) {
 *		r = sbx_image_unpack_tar(..., sbx_debstrap_read, d, ...);
 *		r = sbx_debstrap_end(d, r, err);
 *	}
 */
#pragma once

#include "base/error.h"
#include "core/image_recipe.h"

#include <llmsandbox/image.h>

#include <sys/types.h>

struct sbx_debstrap;

/* SBX_E_NOT_FOUND: mmdebstrap or apt is not here. SBX_E_LIMIT: there is no room to build in. */
int sbx_debstrap_start(const struct sbx_image_recipe *recipe, const struct sbx_image_make *how,
		       struct sbx_debstrap **ret, struct sbx_error *err);

/* As sbx_image_input_fn; what mmdebstrap says meanwhile goes to how->on_progress. */
ssize_t sbx_debstrap_read(void *data, size_t len, void *debstrap, struct sbx_error *err);

/*
 * Wait for its end, or make it end where r is a failure; frees it. r, or what mmdebstrap failed with,
 * which then is what err says.
 */
int sbx_debstrap_end(struct sbx_debstrap *d, int r, struct sbx_error *err);
