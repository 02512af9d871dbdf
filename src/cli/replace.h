/* SPDX-License-Identifier: MIT */
/*
 * A file that belongs to others, read once and replaced as a whole or not at all: a copy is
 * kept beside it, the new content is written to a temporary file in the same folder, and one
 * rename(2) changes from old to new. Mode and owner stay. A symbolic link is followed, so that
 * links into a folder of dot files stay links.
 *
 *	replace_open(path, &file, err)
 *	replace_backup(&file, name, err)	only when the file exists
 *	replace_commit(&file, &text, err)
 *	replace_close(&file)
 */
#pragma once

#include "cli/edits.h"

#include <sys/stat.h>

#define REPLACE_MAX ((size_t)8 << 20)

struct replace_file {
	char path[4096]; /* the file itself, at the end of all links */
	bool exists;
	struct stat st; /* of when it was read */
	struct text text; /* "" when it does not exist */
};

int replace_open(const char *path, struct replace_file *ret, struct sbx_error *err);

/* Keep the content as PATH.bak-YYYYMMDD-HHMMSS; ret is that path. */
int replace_backup(const struct replace_file *file, char ret[4200], struct sbx_error *err);

/* is_private: what mode a new file gets, 0600 or as umask(2) wants it. Makes folders. */
int replace_commit(const struct replace_file *file, const struct text *text, bool is_private,
		   struct sbx_error *err);

/* The content of the n-th newest backup, for n from 0; false: there is none. */
bool replace_read_backup(const struct replace_file *file, size_t n, struct text *ret);

void replace_close(struct replace_file *file);
