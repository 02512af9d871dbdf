/* SPDX-License-Identifier: MIT */
/* A root file system of ours as one archive, for an engine. */
#pragma once

#include "base/error.h"

#include <llmsandbox/image.h>

/*
 * Write the folder `root` as a tar into fd. All is root's but /sandbox and /home/sandbox, which are
 * the user's, 1000; folders that the kernel's file systems are mounted on are in it.
 */
int sbx_image_pack(const char *root, int fd, struct sbx_cancel *cancel, struct sbx_error *err);
