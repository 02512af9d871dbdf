/* SPDX-License-Identifier: MIT */
/*
 * Artifacts on this machine: saved in a folder under their own names, listed, and added to the
 * JSON of a result. A file of the same name is replaced as a whole; nothing is written through a
 * link, and nothing outside the folder, whatever a name says.
 */
#pragma once

#include "cli/site.h"

#include <llmsandbox/result.h>

#include <limits.h>
#include <stdbool.h>

/* Make the folder and its parents unless it is there, and find its absolute path. */
int artifacts_folder(const char *folder, char ret[PATH_MAX], struct sbx_error *err);

/*
 * Save all of a result in the folder, an absolute path. What cannot be saved is said, and the
 * rest goes on; ret_saved has artifact_count flags. False when anything failed.
 */
bool artifacts_save(const struct site *site, const struct sbx_result *result, const char *folder,
		    bool *ret_saved);

/* A line on stderr for each: name, MIME type, size, title; and one for what was left out. */
void artifacts_list(const struct sbx_result *result, const char *folder);

/* The result's JSON with "saved_as" at each that was; the caller frees *ret. */
int artifacts_add_paths(const char *json, const struct sbx_result *result, const char *folder,
			const bool *saved, int indent, char **ret, struct sbx_error *err);

/* Whether a name is one component of printable UTF-8 that hides nothing. */
bool artifacts_name_is_good(const char *name);
