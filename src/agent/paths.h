/* SPDX-License-Identifier: MIT */
/*
 * Paths that the host names: absolute, or relative to the work folder; "" and "." are the work
 * folder, "/" is the sandbox's root. No component is "." or "..", none is empty.
 *
 * Who writes opens a base folder and goes on below it with base/beneath.h, which follows no link.
 * Who only reads may pass a link to a folder on the way, but not in the last place, and no magic
 * link of /proc. Both happen between act_as_user() and act_as_agent() (agent/user.h).
 */
#pragma once

#include "agent/fence.h"
#include "wire/conn.h"

#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

/* Open where the path starts (O_PATH); *ret_rest, in path, is the rest of it. -errno. */
int path_base(const struct agent_fence *fence, const char *path, const char **ret_rest);

/* Open what is there, for reading. -errno. */
int path_open(const struct agent_fence *fence, const char *path, int flags);

/* What is there itself; -errno. */
int path_stat(const struct agent_fence *fence, const char *path, struct stat *ret);

/* Tell the host that it cannot be: "cannot VERB 'path': why", under the code that fits. */
void path_refuse(struct sbx_conn *conn, uint32_t channel, int sys_errno, const char *verb,
		 const char *path);

/* Tell the host of a file: its path below what it asked for. */
void path_send_entry(struct sbx_conn *conn, uint32_t channel, const struct stat *st,
		     enum wire_entry_kind kind, const char *name);
enum wire_entry_kind path_kind(const struct stat *st);

/* A time as the host is told it: one before 1970 as 1970. */
uint64_t path_time_ns(const struct timespec *time);
