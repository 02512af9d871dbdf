/* SPDX-License-Identifier: MIT */
#include "base/sparse.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* Behind the last data there is a hole up to the file's end, which may have come nearer. */
static uint64_t end_of_hole(int fd, uint64_t at, uint64_t end)
{
	struct stat st;
	uint64_t size = fstat(fd, &st) < 0 ? at : (uint64_t)st.st_size;

	size = size < at ? at : size;
	return size < end ? size : end;
}

struct sbx_extent sbx_next_extent(int fd, uint64_t at, uint64_t end)
{
	off_t data = lseek(fd, (off_t)at, SEEK_DATA), hole;

	if (data < 0 && errno == ENXIO)
		end = end_of_hole(fd, at, end);
	else if (data < 0)
		data = (off_t)at;
	if (data < (off_t)at || data >= (off_t)end)
		return (struct sbx_extent){.hole = end - at, .data_end = end};
	hole = lseek(fd, data, SEEK_HOLE);
	if (hole <= data || hole > (off_t)end)
		hole = (off_t)end;
	return (struct sbx_extent){.hole = (uint64_t)data - at, .data_end = (uint64_t)hole};
}
