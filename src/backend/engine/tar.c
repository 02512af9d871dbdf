/* SPDX-License-Identifier: MIT */
#include "backend/engine/tar.h"

#include <stdio.h>
#include <string.h>

#define BLOCK 512

/* Offsets and sizes of the header's fields. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};

static void set_sum(struct header *h)
{
	unsigned int sum = 0;

	memset(h->sum, ' ', sizeof(h->sum));
	for (size_t i = 0; i < sizeof(*h); i++)
		sum += ((const unsigned char *)h)[i];
	snprintf(h->sum, sizeof(h->sum), "%06o", sum);
}

void engine_tar_add(struct sbx_buf *tar, const char *name, unsigned int mode, const void *data,
		    size_t len)
{
	static const char zeros[BLOCK];
	struct header h = {.type = '0', .magic = "ustar", .version = {'0', '0'}};

	snprintf(h.name, sizeof(h.name), "%s", name);
	snprintf(h.mode, sizeof(h.mode), "%07o", mode & 07777);
	snprintf(h.uid, sizeof(h.uid), "%07o", 0);
	snprintf(h.gid, sizeof(h.gid), "%07o", 0);
	snprintf(h.size, sizeof(h.size), "%011zo", len);
	snprintf(h.mtime, sizeof(h.mtime), "%011o", 0);
	set_sum(&h);
	sbx_buf_append(tar, &h, sizeof(h));
	sbx_buf_append(tar, data, len);
	sbx_buf_append(tar, zeros, (BLOCK - len % BLOCK) % BLOCK);
}

void engine_tar_add_folder(struct sbx_buf *tar, const char *name, unsigned int mode,
			   unsigned int uid, unsigned int gid)
{
	struct header h = {.type = '5', .magic = "ustar", .version = {'0', '0'}};

	snprintf(h.name, sizeof(h.name), "%.98s/", name);
	snprintf(h.mode, sizeof(h.mode), "%07o", mode & 07777);
	snprintf(h.uid, sizeof(h.uid), "%07o", uid & 07777777);
	snprintf(h.gid, sizeof(h.gid), "%07o", gid & 07777777);
	snprintf(h.size, sizeof(h.size), "%011o", 0);
	snprintf(h.mtime, sizeof(h.mtime), "%011o", 0);
	set_sum(&h);
	sbx_buf_append(tar, &h, sizeof(h));
}

void engine_tar_end(struct sbx_buf *tar)
{
	static const char zeros[2 * BLOCK];

	sbx_buf_append(tar, zeros, sizeof(zeros));
}
