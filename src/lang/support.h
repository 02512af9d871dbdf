/* SPDX-License-Identifier: MIT */
/*
 * The files of src/lang/support, as the build put them into the library: what runs inside a
 * sandbox for artifacts and kernels.
 */
#pragma once

#include <stddef.h>

struct sbx_support_file {
	const char *path; /* "python/kernel.py"; NULL ends the list */
	const unsigned char *data;
	size_t len;
};

extern const struct sbx_support_file sbx_support_files[];
extern const char sbx_support_version[]; /* hexadecimal digits, others for other contents */
