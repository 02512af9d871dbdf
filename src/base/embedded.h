/* SPDX-License-Identifier: MIT */
/* A file that the build has put into the library. */
#pragma once

#include <stddef.h>

struct sbx_embedded_file {
	const char *path; /* "python/kernel.py"; NULL ends a list */
	const unsigned char *data;
	size_t len;
};
