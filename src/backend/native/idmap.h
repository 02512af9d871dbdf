/* SPDX-License-Identifier: MIT */
/*
 * Mounts that show their owner as the sandbox's user (mount_setattr(2), MOUNT_ATTR_IDMAP): what
 * the program writes to a writable mount belongs, on the host, to whom the folder belongs.
 * Needs root and a file system that can do it (ext4, xfs, btrfs, tmpfs, overlayfs in part).
 */
#pragma once

#include "backend/native/ids.h"
#include "backend/spec.h"

/* A detached, id-mapped copy of the mount that the caller closes, or -errno. */
int idmap_take(const struct sbx_mount *mount, const struct ids *ids, const struct sbx_spec *spec);
