/* SPDX-License-Identifier: MIT */
/*
 * What the sandbox costs, as its cgroup counts it: for places whose host cannot look, because an
 * engine made the cgroup, perhaps on another machine. The host is told before each EXIT, and while a
 * program runs in the foreground when the memory limit has killed something.
 */
#pragma once

#include "wire/conn.h"
#include "wire/message.h"

struct usage {
	int peak_fd, kills_fd; /* -1: not there */
	uint64_t killed_before; /* when the agent began */
	struct wire_usage told;
	uint64_t next_ns; /* when to look again; 0: now */
};

void usage_init(struct usage *u);

/* Without the files, for as long as nobody calls usage_open(). */
void usage_open(struct usage *u, bool shared);

/* When to look again while a program runs, or 0: never. */
uint64_t usage_deadline_ns(const struct usage *u);

/* Look, and tell the host what is new; at most so often, unless something ends. */
void usage_tell(struct usage *u, struct sbx_conn *conn, bool ending);
