/* SPDX-License-Identifier: MIT */
/*
 * A session's network: the relay of its link, and the proxy inside that speaks to it. Both come
 * when the first operation starts that finds a network other than none; from then on they stay,
 * and what changes is what the relay allows.
 */
#pragma once

#include "base/error.h"
#include "core/link.h"

#include <llmsandbox/network.h>
#include <llmsandbox/result.h>

#include <pthread.h>

struct sbx_session_network {
	pthread_mutex_t lock;	     /* of all below but the port */
	struct sbx_network *network; /* the latest; NULL: none */
	struct sbx_relay *relay;     /* what link.relay is; or NULL */
	uint16_t proxy_port;	     /* inside; 0: no proxy. Of whoever has the turn */
};

int sbx_network_open(struct sbx_session *session, struct sbx_error *err);
void sbx_network_close(struct sbx_session *session);

/* With the turn: have the relay and the proxy, where the session has a network. */
int sbx_network_start(struct sbx_session *session, struct sbx_error *err);

/* How many attempts there have been. */
uint64_t sbx_network_count(struct sbx_session *session);

/* Into a finished result: those from this number on, and what its report says of the network. */
int sbx_network_finish(struct sbx_session *session, uint64_t from, struct sbx_result *result,
		       struct sbx_error *err);
