/* SPDX-License-Identifier: MIT */
/* Files of a session as people and programs read them. Names are hostile and hold any byte. */
#pragma once

#include "cli/output.h"

#include <llmsandbox/files.h>

#include <jansson.h>

/* A row of the holder's list; false when it is malformed. The caller frees ret->path. */
bool listing_parse(const json_t *row, struct sbx_file_info *ret);

/* One line; what could steer a terminal is shown instead where the output is one. */
void listing_print(struct output *o, const struct sbx_file_info *info, bool longer);

/*
 * As an object. A name that is no UTF-8 has U+FFFD for what is none, and its exact bytes in
 * base64 as path_base64, as the output of a result.
 */
json_t *listing_json(const struct sbx_file_info *info);

/* A copy of a name without a byte that ends a line or steers a terminal; free() it. */
char *listing_tame(const char *name);
