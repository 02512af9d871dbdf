/* SPDX-License-Identifier: MIT */
/*
 * The host's side of a session's proxy. The agent reports each connection that a program asks for
 * on a channel of its own (CONNECT); the relay judges it, resolves the name, judges and pins the
 * address, connects, answers OPENED or REFUSED, and moves bytes both ways under credit.
 *
 * It never blocks and has no thread: whoever drives the session's link hands it frames and calls
 * it when its descriptor is readable. All that comes from the agent is hostile.
 */
#pragma once

#include "base/error.h"
#include "egress/policy.h"
#include "wire/conn.h"

#include <stdint.h>

struct sbx_relay;

/* Messages are queued on conn, which outlives the relay; started_ns is when the session began. */
int sbx_relay_new(struct sbx_conn *conn, const struct sbx_network *network, uint64_t started_ns,
		  struct sbx_relay **ret, struct sbx_error *err);
/* Cuts what is open. NULL is allowed. */
void sbx_relay_free(struct sbx_relay *relay);

/* An epoll descriptor: readable when sbx_relay_pump() has something to do, timers included. */
int sbx_relay_fd(const struct sbx_relay *relay);

/* A frame on a channel of the agent's; an error ends the session. */
int sbx_relay_take(struct sbx_relay *relay, const struct wire_frame *frame, struct sbx_error *err);

/* Do what can be done now. The caller leaves it while much is queued on conn. */
int sbx_relay_pump(struct sbx_relay *relay, struct sbx_error *err);

/* From now on; any thread, also while another one pumps. */
int sbx_relay_set_network(struct sbx_relay *relay, const struct sbx_network *network,
			  struct sbx_error *err);

/* Attempts number `from` and later, as sbx_session_egress() gives them; any thread. */
int sbx_relay_log(struct sbx_relay *relay, uint64_t from, struct sbx_egress **ret,
		  size_t *ret_count, uint64_t *ret_total, struct sbx_error *err);
