/* SPDX-License-Identifier: MIT */
/*
 * The host's end of a session's stream, and all that speaks over it.
 *
 * Whoever has the session's turn (core/session.h) drives the link: one thread at a time calls
 * sbx_link_turn() until what it waits for has come. Frames of others, that is of background
 * processes and of the egress relay, are handled by whoever drives. A channel is what one
 * conversation with the agent has for itself:
 *
 *	struct sbx_channel ch = {.on_frame = take, .owner = &mine};
 *
 *	sbx_link_add(link, &ch);
 *	r = sbx_link_queue(link, WIRE_LIST, ch.id, payload.data, payload.len, err);
 *	while (r == 0 && !mine.done && !link->lost)
 *		r = sbx_link_turn(link, &(struct sbx_wait){.cancel = cancel}, err);
 *	sbx_link_remove(link, &ch);
 *
 * After a turn that failed the stream is out of step and the session is over. The stream ending
 * is no error but link->lost. What a channel that was removed still gets is passed over.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "wire/conn.h"

#include <llmsandbox/session.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sbx_channel;
struct sbx_relay;

/*
 * One frame of the agent for this channel; the payload is gone after it. An error ends the
 * session: what is only this channel's trouble the channel keeps to itself.
 */
typedef int sbx_channel_fn(struct sbx_channel *ch, const struct wire_frame *frame,
			   struct sbx_error *err);

/* Whoever drives is about to wait: what is to be sent now? It may remove and free its channel. */
typedef int sbx_turn_fn(struct sbx_channel *ch, struct sbx_error *err);

struct sbx_channel {
	uint32_t id; /* sbx_link_add() sets it */
	sbx_channel_fn *on_frame;
	sbx_turn_fn *on_turn; /* or NULL */
	void *owner;
	struct sbx_channel *next;
};

struct sbx_link {
	struct sbx_session *session;
	struct sbx_conn conn;
	struct sbx_channel *channels;
	uint32_t next_id;
	int wake_fd; /* an eventfd: whoever drives shall look up */
	struct sbx_relay *relay; /* or NULL: no network */
	atomic_bool lost; /* the stream ended */
	bool failed;	  /* a turn failed: the stream is out of step */
	uint64_t heard_ns; /* when the agent said something last, or an operation began */
	bool pinged;	   /* and was asked since whether it is there */
};

/* What a turn waits for besides frames. */
struct sbx_wait {
	uint64_t deadline_ns;	   /* a turn returns by then; 0: when something happened */
	struct sbx_cancel *cancel; /* wakes; what it asks for is the caller's to see */
	int input_fd;		   /* wait until it is readable too, where wants_input */
	bool wants_input;
	bool input_ready; /* it is */
	bool for_room;	  /* the stream taking all that was queued is something that happened */
};

int sbx_link_init(struct sbx_link *link, struct sbx_session *session, struct sbx_error *err);
void sbx_link_done(struct sbx_link *link);

/* Whoever drives shall look up: any thread. */
void sbx_link_wake(struct sbx_link *link);

void sbx_link_add(struct sbx_link *link, struct sbx_channel *ch);
void sbx_link_remove(struct sbx_link *link, struct sbx_channel *ch);

/* Queue one message; a turn sends it. */
int sbx_link_queue(struct sbx_link *link, enum wire_type type, uint32_t channel,
		   const void *payload, size_t len, struct sbx_error *err);

/* Bytes queued and not yet taken by the stream: who has much to send waits while this is large. */
size_t sbx_link_queued(const struct sbx_link *link);

/*
 * Send what is queued, wait for something to happen, act on it. The session's first turn waits
 * for the greeting.
 */
int sbx_link_turn(struct sbx_link *link, struct sbx_wait *wait, struct sbx_error *err);

/*
 * A turn of somebody to whom the agent owes an answer. When the session's life is over, or the
 * agent has said nothing for a minute, though it was asked whether it is there, the sandbox is
 * killed and that is the error: SBX_E_TIMEOUT.
 */
int sbx_link_await(struct sbx_link *link, struct sbx_cancel *cancel, struct sbx_error *err);

/* The same for somebody who waits for room: it returns too when all that was queued is written. */
int sbx_link_await_room(struct sbx_link *link, struct sbx_cancel *cancel, struct sbx_error *err);

/* The agent's ERROR as ours: fills err and returns -code. */
int sbx_link_refusal(const struct wire_frame *frame, struct sbx_error *err);
