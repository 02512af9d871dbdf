/* SPDX-License-Identifier: MIT */
/* A tar archive of a few small files in memory, as an engine takes it. POSIX.1-1988 ustar. */
#pragma once

#include "base/buf.h"

/* Append one file; name has at most 99 bytes. */
void engine_tar_add(struct sbx_buf *tar, const char *name, unsigned int mode, const void *data,
		    size_t len);

#define ENGINE_TAR_NAME_MAX 98 /* bytes of a folder's name */

/* Append a folder with its owner. */
void engine_tar_add_folder(struct sbx_buf *tar, const char *name, unsigned int mode,
			   unsigned int uid, unsigned int gid);

/* Append what an archive ends with. */
void engine_tar_end(struct sbx_buf *tar);
