/* SPDX-License-Identifier: MIT */
/*
 * Changes of a text by offsets: what no edit names stays as it is, byte for byte.
 *
 *	struct edits edits = {0};
 *	edits_add(&edits, at, 1, NULL);		remove one byte
 *	edits_add(&edits, end, 0, added);	insert; added is freed by edits_done()
 *	edits_apply(&edits, &in, &out, err)
 *
 * Edits are in the order of their offsets and do not overlap.
 */
#pragma once

#include <llmsandbox/error.h>

#include <stdbool.h>
#include <stddef.h>

/* Bytes, followed by a NUL that len does not count; data NULL: there is none. */
struct text {
	char *data;
	size_t len;
};

struct edit {
	size_t at, removed;
	char *added; /* owned; or NULL */
};

struct edits {
	struct edit list[64];
	size_t count;
	bool failed; /* no memory for an added text, or too many */
};

/* Takes added, a string from malloc(), also when it fails; NULL adds nothing. */
void edits_add(struct edits *edits, size_t at, size_t removed, char *added);

/* An edit whose text could not be made. */
void edits_fail(struct edits *edits);

/* ret->data is the caller's. */
int edits_apply(const struct edits *edits, const struct text *in, struct text *ret,
		struct sbx_error *err);

void edits_done(struct edits *edits);
