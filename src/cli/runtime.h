/* SPDX-License-Identifier: MIT */
/*
 * The folder in which a user's holder of sessions is found: /run/llm-sandbox for root, else
 * $XDG_RUNTIME_DIR/llm-sandbox or a folder in /tmp. It must be ours and nobody else's to write,
 * because who can put a socket there can pretend to be the holder.
 *
 * The socket is reached through the folder's descriptor: its path may be longer than a socket's
 * address can be, and what was checked is what is used.
 */
#pragma once

#include <llmsandbox/error.h>

#include <stdbool.h>

/* Open the folder, with create make it; SBX_E_NOT_FOUND when there is none. */
int runtime_open(bool create, int *ret_fd, struct sbx_error *err);

/* A connection to the holder, or -errno; checks that it is ours. */
int runtime_connect(int folder_fd);

/* A socket that takes connections in the place of what was there. Whoever calls has the lock. */
int runtime_listen(int folder_fd, int *ret_fd, struct sbx_error *err);
void runtime_unlisten(int folder_fd);

/* An exclusive lock on a file of the folder: its descriptor, or -errno, -EWOULDBLOCK if held. */
int runtime_lock(int folder_fd, const char *name, bool wait);

/* Whether the other end is a process of ours. */
bool runtime_is_ours(int sock);
