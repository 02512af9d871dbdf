/* SPDX-License-Identifier: MIT */
/*
 * Files to and from the host: PUT, GET, LIST and REMOVE, one at a time, and STAT and MKDIR, which
 * are over at once.
 *
 * All of it happens as the sandbox's user, so that no operation can do more than a program could.
 * Nothing is written or removed through a link (base/beneath.h); a file is written under a name of
 * its own and renamed, so it is whole or not there.
 */
#pragma once

#include "agent/fence.h"
#include "agent/get.h"
#include "agent/put.h"
#include "agent/removal.h"
#include "wire/conn.h"
#include "wire/message.h"

#include <stdbool.h>

enum transfer_kind { TRANSFER_NONE, TRANSFER_PUT, TRANSFER_GET, TRANSFER_REMOVE };

/* All zero is a transfer that is over. */
struct transfer {
	enum transfer_kind kind;
	uint32_t channel;
	const struct agent_fence *fence;
	struct put put;
	struct get get;
	struct removal removal;
	char *path;    /* for what the host is told */
	uint64_t left; /* PUT: bytes that may still come */
	size_t credit; /* GET: may be sent; PUT: received and not granted again */
};

/*
 * Begin what the frame asks for, or do it; a refusal is told to the host on its channel. -code
 * when the frame is malformed.
 */
int transfer_begin(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame,
		   const struct agent_fence *fence, struct sbx_error *err);

/* Whether transfer_begin() is for frames of this type. */
bool transfer_begins_with(enum wire_type type);

/* DATA, HOLE, FINISH, CLOSE or CREDIT for its channel; -code when the host broke the protocol. */
int transfer_take(struct transfer *t, struct sbx_conn *conn, const struct wire_frame *frame,
		  struct sbx_error *err);

/* The connection is over: nothing half written stays. */
void transfer_abort(struct transfer *t);

/* Whether it has something to do now, and doing some of it. */
bool transfer_wants_turn(const struct transfer *t, const struct sbx_conn *conn);
void transfer_pump(struct transfer *t, struct sbx_conn *conn);
