/* SPDX-License-Identifier: MIT */
/*
 * A file that comes from the host. Functions give 0 or -errno and are called as the sandbox's
 * user; put_done() releases what put_begin() made, also half written files.
 */
#pragma once

#include "agent/fence.h"
#include "base/beneath.h"
#include "wire/message.h"

struct put {
	struct sbx_new_file file; /* or, when appending, nothing but its fd */
	enum wire_put_how how;
	char *path;	   /* for what the host is told */
	uint64_t mtime_ns; /* or 0 */
	uint64_t start;	   /* size of the file that is appended to, and … */
	uint64_t appended; /* … bytes that were added to it */
	bool ends_in_hole;
};

int put_begin(struct put *p, const struct wire_put *m, const struct agent_fence *fence);
int put_data(struct put *p, const void *data, size_t len);
int put_hole(struct put *p, uint64_t bytes);
int put_finish(struct put *p);
void put_done(struct put *p);
