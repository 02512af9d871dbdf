/* SPDX-License-Identifier: MIT */
/*
 * Files to and from the host: PUT, GET and LIST, one at a time.
 *
 * All of it happens as the sandbox's user, so that no operation can do more than a program could.
 * Paths are walked below the sandbox's root without magic links (openat2(2)); a file is written
 * under a name of its own and renamed, so it is whole or not there, and a link that a program
 * planted in its place is replaced and not followed.
 */
#pragma once

#include "agent/fence.h"
#include "wire/conn.h"
#include "wire/message.h"

#include <dirent.h>
#include <stdbool.h>

enum transfer_kind { TRANSFER_NONE, TRANSFER_PUT, TRANSFER_GET, TRANSFER_LIST };

struct transfer {
	enum transfer_kind kind;
	uint32_t channel;
	const struct agent_fence *fence;
	int fd;	       /* PUT, GET: the file */
	int folder_fd; /* PUT: where it goes */
	char *name;    /* PUT: what it will be called */
	char temp[32]; /* PUT: what it is called until then */
	uint64_t left; /* bytes of a PUT or GET, entries of a LIST */
	size_t credit; /* GET: may be sent; PUT: received and not granted again */
	DIR *dir;
};

/* Begin one; a refusal is told to the host on its channel. */
void transfer_put(struct transfer *t, struct sbx_conn *conn, uint32_t channel,
		  const struct wire_put *m, const struct agent_fence *fence);
void transfer_get(struct transfer *t, struct sbx_conn *conn, uint32_t channel,
		  const struct wire_path *m, const struct agent_fence *fence);
void transfer_list(struct transfer *t, struct sbx_conn *conn, uint32_t channel,
		   const struct wire_path *m, const struct agent_fence *fence);

/* DATA, CLOSE or CREDIT for its channel; -code when the host broke the protocol. */
int transfer_take(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame,
		  struct sbx_error *err);

/* The connection is over: nothing half written stays. */
void transfer_abort(struct transfer *t);

/* Whether it has something to send now, and sending it. */
bool transfer_wants_turn(const struct transfer *t, const struct sbx_conn *conn);
void transfer_pump(struct transfer *t, struct sbx_conn *conn);
