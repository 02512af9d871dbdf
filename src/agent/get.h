/* SPDX-License-Identifier: MIT */
/*
 * Files that go to the host, of a GET, and names, of a LIST: a piece at a time, as the host's
 * credit allows. Called as the sandbox's user.
 */
#pragma once

#include "agent/fence.h"
#include "base/walk.h"
#include "wire/conn.h"
#include "wire/message.h"

#include <stdbool.h>
#include <stdint.h>

struct get {
	bool walks;	   /* there is a folder … */
	struct sbx_walk walk;  /* … and this is where we are in it */
	bool files;	   /* a GET: the bytes of files go too */
	uint64_t offset, length, most;
	int fd;		   /* the file under way, or -1 */
	uint64_t at, end;  /* of its bytes, those that still go */
	uint64_t data_end; /* up to here there is no hole */
	uint64_t entries;  /* that may still go */
	uint64_t seen;	   /* that may still be looked at */
	uint64_t since_ns; /* a LIST of what is new; 0: of all */
};

/* 0, when there is more to send, or -errno: then nothing must be released. */
int get_begin(struct get *g, struct sbx_conn *conn, uint32_t channel, const struct wire_get *m,
	      const struct agent_fence *fence);
int list_begin(struct get *g, const struct wire_list *m, const struct agent_fence *fence);

/*
 * Send one thing; no more of a file than *credit, which is lowered by it. 0 when there is more to
 * do, 1 at the end, -errno.
 */
int get_step(struct get *g, struct sbx_conn *conn, uint32_t channel, size_t *credit);
bool get_needs_no_credit(const struct get *g);
void get_done(struct get *g);
