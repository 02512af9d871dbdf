/* SPDX-License-Identifier: MIT */
/*
 * The sandbox's proxy: it listens on the loopback of the inside, understands HTTP and SOCKS5 on
 * one port, and turns each connection of a program into a channel of the stream. What may be
 * reached is the host's to say. A bounded number of clients; one that does not read, or says
 * nothing, stalls itself alone.
 *
 *	n = proxy_poll(p, conn, fds);		// so many to poll for
 *	deadline = proxy_deadline_ns(p);
 *	proxy_pump(p, conn, fds);		// with what poll() said of them
 */
#pragma once

#include "agent/proxy_client.h"

#include <poll.h>

#define PROXY_CLIENTS_MAX 256
#define PROXY_POLLFDS	  (2 + PROXY_CLIENTS_MAX)

struct proxy {
	int listeners[2]; /* IPv4, IPv6; -1: none */
	uint16_t port;	  /* 0: not listening */
	uint32_t last_channel;
	uint64_t rest_until_ns; /* no descriptor or memory was left for a client: wait a little */
	struct client *clients[PROXY_CLIENTS_MAX];
	size_t count; /* the first so many */
	struct sbx_conn *conn; /* of the taker of bulk */
	int pipe[2];	       /* for it; -1 until it is used. Empty between calls */
};

void proxy_init(struct proxy *p);
void proxy_done(struct proxy *p);

/* LISTEN, answered on its channel; when it listens already it says where. */
void proxy_listen(struct proxy *p, struct sbx_conn *conn, uint32_t channel, uint16_t port);

/* A frame on a channel of ours; -code when the host broke the protocol. */
int proxy_take(struct proxy *p, struct sbx_conn *conn, const struct wire_frame *frame,
	       struct sbx_error *err);

size_t proxy_poll(struct proxy *p, struct sbx_conn *conn, struct pollfd fds[PROXY_POLLFDS]);
uint64_t proxy_deadline_ns(const struct proxy *p); /* 0: none */
void proxy_pump(struct proxy *p, struct sbx_conn *conn, const struct pollfd *fds);
