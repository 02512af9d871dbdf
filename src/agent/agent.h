/* SPDX-License-Identifier: MIT */
/*
 * The agent: the first process inside a sandbox. One thread, one loop over poll(), one stream to
 * the host; it trusts neither the host's lengths nor anything a program does. When the stream
 * ends it kills what it started and exits, and as PID 1 it takes the whole sandbox with it.
 */
#pragma once

#include "agent/fence.h"
#include "agent/files.h"
#include "agent/guest.h"
#include "agent/programs.h"
#include "agent/proxy.h"
#include "agent/usage.h"
#include "wire/conn.h"

#define AGENT_STREAM_FD 3

struct agent {
	struct sbx_conn conn;
	struct sbx_buf joined; /* a continued SETUP or EXEC so far … */
	struct wire_frame joining; /* … of this type and channel, when .more */
	struct wire_setup setup;
	struct agent_fence fence;
	bool is_set_up;
	int signal_fd; /* SIGCHLD */
	struct programs programs;
	uint64_t life_ends_ns; /* when the sandbox is over whatever runs; 0: never */
	struct transfer transfer;
	struct proxy proxy;
	struct guest guest;
	bool in_container; /* one of ours, that an engine has made */
	char **folders; /* to be the user's own, NULL-terminated; or NULL */
	struct usage usage;
};

/* Act on one frame of the host; -code ends the agent. */
int agent_dispatch(struct agent *a, const struct wire_frame *frame, struct sbx_error *err);
