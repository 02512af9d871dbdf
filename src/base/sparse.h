/* SPDX-License-Identifier: MIT */
/* Which bytes of a file are stored at all: lseek(2), SEEK_DATA and SEEK_HOLE. */
#pragma once

#include <stdint.h>

/* From an offset on: so many bytes that are not stored, then data up to another offset. */
struct sbx_extent {
	uint64_t hole;	   /* bytes */
	uint64_t data_end; /* offset; data lie between the hole's end and this */
};

/*
 * What there is from at to end (at most INT64_MAX); neither hole nor data when the file has become
 * shorter than at. A file system that knows no holes has data everywhere. The descriptor's own position moves.
 */
struct sbx_extent sbx_next_extent(int fd, uint64_t at, uint64_t end);
