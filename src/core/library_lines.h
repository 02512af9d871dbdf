/* SPDX-License-Identifier: MIT */
/*
 * What an installer says, as lines: each is passed on without credentials, and those that tell
 * why it failed are kept.
 */
#pragma once

#include "base/buf.h"
#include "lang/lang.h"

#include <llmsandbox/library.h>

struct sbx_library_lines {
	const struct sbx_lang_install *install;
	sbx_install_fn *on_progress; /* or NULL */
	void *userdata;
	struct sbx_buf line[2]; /* of stdout and stderr, while it is not whole */
	bool drops[2];		/* the rest of a word that is too long */
	struct sbx_buf trouble; /* lines of trouble, joined */
	struct sbx_buf last;	/* the last lines, whatever they are */
};

void sbx_library_lines_init(struct sbx_library_lines *lines, const struct sbx_lang_install *install,
			    sbx_install_fn *on_progress, void *userdata);
void sbx_library_lines_done(struct sbx_library_lines *lines);

/* As sbx_output_fn: userdata is the struct. */
void sbx_library_lines_out(const void *data, size_t len, void *userdata);
void sbx_library_lines_err(const void *data, size_t len, void *userdata);

/* A program has ended, and another begins: what it said is forgotten. */
void sbx_library_lines_next(struct sbx_library_lines *lines);

/* Why it failed, in its own words, cut where `most` is; never NULL. */
const char *sbx_library_lines_why(struct sbx_library_lines *lines);
