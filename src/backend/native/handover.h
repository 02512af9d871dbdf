/* SPDX-License-Identifier: MIT */
/*
 * How descriptors that the parent makes after the child was born get to the child: a pair of
 * sockets that keep messages apart. The other end closing is how either learns of the other's end.
 */
#pragma once

#include "backend/spec.h"

#include <stddef.h>

#define HANDOVER_FDS_MAX (SBX_MOUNTS_MAX + 2)

/* ret[0] for the parent, ret[1] for the child; both close on exec. 0 or -errno. */
int handover_open(int ret[2]);

/* Send the note with copies of the descriptors. 0 or -errno. */
int handover_send(int fd, const void *note, size_t len, const int *fds, size_t count);

/*
 * Wait for a note of exactly this length. How many descriptors came with it: the caller's, all
 * of them above HANDOVER_FD_LOW and closing on exec; -EPIPE when the other end is gone. Async-signal-safe.
 */
int handover_receive(int fd, void *ret_note, size_t len, int ret_fds[HANDOVER_FDS_MAX]);

/* Move a descriptor away from the low numbers, which a child gives new meanings. 0 or -errno. */
#define HANDOVER_FD_LOW 10
int handover_raise(int *fd);
