/* SPDX-License-Identifier: MIT */
/*
 * The session that something ran in, once it has: of our own, or one that the holder keeps. What
 * a run left there is taken out of it, and its kernels are told things. A signal stops a call.
 */
#pragma once

#include <llmsandbox/kernel.h>
#include <llmsandbox/session.h>

#include <stdint.h>

struct site {
	struct sbx_session *session; /* ours, or NULL: */
	const char *name;	     /* of the one that the holder keeps */
};

/*
 * Copy a file of at most `most` bytes, else SBX_E_LIMIT, to the absolute path `to`, whole; what is
 * there is replaced, a link too.
 */
int site_save(const struct site *site, const char *from, const char *to, uint64_t most,
	      struct sbx_error *err);

/* Read a file of at most `most` bytes, else SBX_E_LIMIT; the caller frees *ret. */
int site_read(const struct site *site, const char *path, size_t most, char **ret, size_t *ret_len,
	      struct sbx_error *err);

enum site_act {
	SITE_START,
	SITE_INTERRUPT,
	SITE_RESTART,
	SITE_RESET,
	SITE_END,
	SITE_ACT_COUNT
};

/* The name of what is done to a kernel, "restart". */
const char *site_act_name(enum site_act act);

/* Do it to the kernel of this name; language is for SITE_START alone. */
int site_kernel(const struct site *site, enum site_act act, const char *kernel,
		const char *language, struct sbx_error *err);

/* The same with a session at hand, as the holder does it. */
int site_kernel_act(struct sbx_session *session, enum site_act act, const char *kernel,
		    const char *language, struct sbx_cancel *cancel, struct sbx_error *err);

/* All kernels, oldest first; free() *ret. */
int site_kernels(const struct site *site, struct sbx_kernel_info **ret, size_t *ret_count,
		 struct sbx_error *err);

/*
 * Install libraries for later cells of this language, in a session of ours; the holder does so
 * with the cell that needs them.
 */
int site_install(const struct site *site, const char *language, char *const *libraries,
		 bool offline, struct sbx_error *err);
