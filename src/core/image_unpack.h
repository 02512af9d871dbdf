/* SPDX-License-Identifier: MIT */
/*
 * A root file system out of an archive or a folder, into a folder of ours. What comes may be from
 * anybody: names cannot lead out, also by way of links that came before; links are made and never
 * followed; nothing but folders, files and links is made; all files are ours, without set-id bits and
 * writing by others; and all of it is bounded.
 */
#pragma once

#include "base/error.h"

#include <llmsandbox/image.h>

#include <sys/types.h>

/* Bytes of an archive: as read(2), with -1 and err filled when it fails. */
typedef ssize_t sbx_image_input_fn(void *data, size_t len, void *userdata, struct sbx_error *err);

struct sbx_image_unpack {
	int root_fd; /* of an empty folder */
	uint64_t most_bytes;
	struct sbx_cancel *cancel;
};

int sbx_image_unpack_tar(const struct sbx_image_unpack *how, sbx_image_input_fn *input, void *userdata,
			 struct sbx_image_report *ret, struct sbx_error *err);
int sbx_image_unpack_folder(const struct sbx_image_unpack *how, const char *folder,
			    struct sbx_image_report *ret, struct sbx_error *err);

/* Once it is there: whether it is a root file system, and what the sandbox shows its own over. */
int sbx_image_complete(int root_fd, struct sbx_error *err);
