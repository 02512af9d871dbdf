/* SPDX-License-Identifier: MIT */
/*
 * The files of a set, and a list of them that tells whether they are still the same: records of
 * "KIND MODE SIZE SHA256 PATH" and a NUL, sorted by path, folders with a size and hash of 0.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <stdint.h>

#define SBX_SET_BYTES_MAX (4ull << 30)
#define SBX_SET_FILES_MAX 400000u
#define SBX_SET_LIST_MAX  (256u << 20)

/*
 * Make all below path ours and read-only, and list it. Fails on what is neither file nor folder,
 * has another name too, or was mounted there.
 */
int sbx_set_seal(const char *path, struct sbx_buf *list, uint64_t *ret_bytes, struct sbx_error *err);

/* Compare what is below path with the list. SBX_E_DENIED names the first that differs. */
int sbx_set_compare(const char *path, const char *list, size_t len, struct sbx_error *err);
