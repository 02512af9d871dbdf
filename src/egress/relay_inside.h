/* SPDX-License-Identifier: MIT */
/*
 * The inside of the relay: relay.c has all connections together, relay_conn.c one of them,
 * relay_open.c its way to being open, relay_bytes.c what then goes through it, relay_answer.c what
 * is told of it.
 *
 *	RESOLVING   the name is looked up
 *	GREETING    the program was told OPENED; what it says first is judged before any packet goes
 *	CONNECTING  one address after the other
 *	OPEN        bytes both ways
 *	DEAD        to be freed at the end of the pump
 *
 * A connection is watched for what it waits for and for nothing else: an end or an error of one
 * that nobody reads would wake us for ever.
 */
#pragma once

#include "egress/address.h"
#include "egress/policy.h"
#include "egress/relay.h"
#include "egress/relay_limits.h"
#include "egress/relay_log.h"
#include "egress/resolve.h"
#include "egress/spelling.h"

#include <stdatomic.h>

enum relay_state { RELAY_RESOLVING, RELAY_GREETING, RELAY_CONNECTING, RELAY_OPEN, RELAY_DEAD };

struct relay_conn {
	struct sbx_relay *relay;
	struct relay_conn *next;
	enum relay_state state;
	uint32_t channel;
	uint64_t number; /* in the log */

	/* what it is for */
	enum wire_how how;
	struct host host;
	char *asked; /* owned; as the program wrote it */
	uint16_t port;
	struct sbx_verdict verdict; /* on the host */
	struct question *question;
	struct address addresses[RESOLVE_ADDRESSES_MAX];
	size_t address_count, address_at; /* at: the one that is tried, or connected */

	/* the peer */
	int fd;
	uint32_t watched;	 /* for these events; 0: not at all */
	uint64_t deadline_ns;	 /* until it must be open */
	uint64_t try_ns;	 /* until the next address is tried */
	uint64_t last_ns;	 /* when a byte moved */
	int sys_errno;		 /* of the last address that failed */

	/* the program */
	bool told;	      /* OPENED was sent */
	bool checks_greeting; /* its first bytes have not been judged yet */
	unsigned int pieces;  /* that these came in */
	bool is_bulky;	      /* the peer sends much at a time */
	struct sbx_buf up;    /* from the program, for the peer */
	size_t up_at;
	size_t owed;   /* credit that the agent has spent and not got back */
	size_t credit; /* what we may send it */
	bool up_ended, up_shut;
	bool down_ended;
};

struct sbx_relay {
	struct sbx_conn *stream;
	uint64_t started_ns;
	uint64_t now_ns; /* of this call */
	int epoll_fd, timer_fd, wake_fd;
	uint64_t timer_ns; /* what the timer is set to; 0: not */
	struct resolver *resolver; /* NULL until the first name */
	struct sbx_network *network;
	struct relay_limits limits;
	struct relay_log log;
	struct relay_conn *conns;
	int pipe[2]; /* for bulk; -1 until it is used. Empty between calls */
	size_t count; /* of those that are not dead */
	bool is_paused; /* by the rate: none is watched */
	pthread_mutex_t lock;	     /* of pending */
	struct sbx_network *pending; /* the next network, from any thread */
	atomic_bool has_pending;
};

/* ---- relay_conn.c ---- */

/* A CONNECT frame; an error ends the session. */
int relay_conn_begin(struct sbx_relay *relay, const struct wire_frame *frame,
		     struct sbx_error *err);
int relay_conn_take(struct relay_conn *c, const struct wire_frame *frame, struct sbx_error *err);
/* As sbx_bulk_taker. */
size_t relay_conn_take_bulk(struct relay_conn *c, int stream_fd, size_t len);
int relay_conn_pump(struct relay_conn *c, uint32_t events, struct sbx_error *err);
/* Heed its deadlines. */
int relay_conn_expire(struct relay_conn *c, struct sbx_error *err);
/* The next of them; 0: none. */
uint64_t relay_conn_deadline_ns(const struct relay_conn *c);
/* The rules have changed. */
int relay_conn_rejudge(struct relay_conn *c, struct sbx_error *err);
/* What it waits for may have changed. */
void relay_conn_watch(struct relay_conn *c);
/* The peer's descriptor alone. */
void relay_conn_close_peer(struct relay_conn *c);
/* Its descriptor is closed and nothing comes for it any more. */
void relay_conn_bury(struct relay_conn *c);
void relay_conn_free(struct relay_conn *c);

/* The resolver, made at the first use. */
int relay_resolver(struct sbx_relay *relay, struct resolver **ret, struct sbx_error *err);

/* ---- relay_open.c ---- */

/* Try the next address; when there is none, say so. */
int relay_open_next(struct relay_conn *c, struct sbx_error *err);
/* The address that is tried has answered, or failed. */
int relay_open_done(struct relay_conn *c, struct sbx_error *err);
int relay_open_expire(struct relay_conn *c, struct sbx_error *err);
/* Judge what a program said first, as soon as enough of it is there. */
int relay_open_greeting(struct relay_conn *c, struct sbx_error *err);
/* Whether the address at hand may be connected to. */
bool relay_may_try(struct relay_conn *c, struct sbx_verdict *ret);

/* ---- relay_bytes.c ---- */

static inline bool relay_has_up(const struct relay_conn *c)
{
	return c->up_at < c->up.len;
}

/* Who sends much does not begin with what a nearly empty window still takes: more is to come. */
static inline bool relay_has_credit(const struct relay_conn *c)
{
	return c->credit >= (c->is_bulky ? SBX_BULK_LEAST : 1);
}

/* Write what may be written and what the peer takes: the bytes, or -errno. */
ssize_t relay_write_up(struct relay_conn *c, const void *data, size_t len);
/* The same of what waits; give credit back, and end what has ended. */
int relay_flush_up(struct relay_conn *c, struct sbx_error *err);
int relay_read_down(struct relay_conn *c, struct sbx_error *err);
int relay_lose_peer(struct relay_conn *c, int sys_errno, struct sbx_error *err);

/* ---- relay_answer.c ---- */

void relay_note_begin(struct relay_conn *c, const char *asked);
/* Log what the agent refused. */
void relay_note_fault(struct sbx_relay *relay, const struct wire_connect *m);

/* End it: REFUSED where the program still waits, else CLOSE; and log why. */
int relay_refuse(struct relay_conn *c, enum wire_refusal kind, const char *why,
		 struct sbx_error *err);
