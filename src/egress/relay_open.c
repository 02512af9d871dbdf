/* SPDX-License-Identifier: MIT */
/* From a CONNECT to an open connection: judged, looked up, judged again, heard, connected. */
#include "egress/relay_inside.h"

#include "base/auto.h"
#include "base/clock.h"
#include "egress/sni.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HTTPS_PORT 443
#define PIECES_MAX 256 /* that the first words of a program come in */

/* ---- the peer: from here to its connection ---- */

/* For the step that begins. */
static void set_deadline(struct relay_conn *c)
{
	const struct sbx_network_limits *limits = &c->relay->network->limits;

	c->deadline_ns = c->relay->now_ns + limits->connect_timeout_ms * SBX_NS_PER_MS;
}

static int send_opened(struct relay_conn *c, struct sbx_error *err)
{
	c->told = true;
	return sbx_conn_queue(c->relay->stream, WIRE_OPENED, c->channel, NULL, 0, err);
}

static int become_open(struct relay_conn *c, struct sbx_error *err)
{
	char text[ADDRESS_TEXT_MAX];
	int on = 1, r = 0;

	c->state = RELAY_OPEN;
	c->last_ns = c->relay->now_ns;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	address_format(&c->addresses[c->address_at], text);
	relay_log_set(&c->relay->log, c->number, SBX_EGRESS_ALLOWED, text, c->verdict.text);
	if (!c->told)
		r = send_opened(c, err);
	if (r == 0)
		r = relay_flush_up(c, err);
	if (c->state == RELAY_OPEN)
		relay_conn_watch(c);
	return r;
}

/* Begin to connect to the address at hand: 0, or an errno. */
static int try_address(struct relay_conn *c)
{
	struct sockaddr_storage to;
	socklen_t len = address_to_socket(&c->addresses[c->address_at], c->port, &to);

	c->fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return errno;
	if (connect(c->fd, (struct sockaddr *)&to, len) < 0 && errno != EINPROGRESS)
		return errno;
	return 0;
}

static void close_try(struct relay_conn *c, int sys_errno)
{
	c->sys_errno = sys_errno;
	relay_conn_close_peer(c);
	c->address_at++;
}

/* Judged again just here: this address, and no other, is what the kernel is asked for. */
bool relay_may_try(struct relay_conn *c, struct sbx_verdict *verdict)
{
	struct sockaddr_storage to;

	address_to_socket(&c->addresses[c->address_at], c->port, &to);
	sbx_network_judge_address(c->relay->network, &c->verdict, (struct sockaddr *)&to, verdict);
	return verdict->allowed;
}

static int fail_to_connect(struct relay_conn *c, struct sbx_error *err)
{
	bool late = c->sys_errno == ETIMEDOUT;

	return relay_refuse(c, late ? WIRE_REFUSED_TIMEOUT : WIRE_REFUSED_PEER,
			    late ? "the peer did not answer in time" : strerror(c->sys_errno), err);
}

/* Each address gets its share of the time that is left. */
int relay_open_next(struct relay_conn *c, struct sbx_error *err)
{
	struct sbx_verdict verdict = {.allowed = true};

	c->state = RELAY_CONNECTING;
	for (; c->address_at < c->address_count; close_try(c, c->sys_errno)) {
		uint64_t now = c->relay->now_ns, left;

		if (!relay_may_try(c, &verdict))
			return relay_refuse(c, WIRE_REFUSED_DENIED, verdict.text, err);
		c->sys_errno = try_address(c);
		if (c->sys_errno != 0)
			continue;
		left = c->deadline_ns > now ? c->deadline_ns - now : 0;
		c->try_ns = now + left / (c->address_count - c->address_at);
		relay_conn_watch(c);
		return 0;
	}
	return fail_to_connect(c, err);
}

int relay_open_done(struct relay_conn *c, struct sbx_error *err)
{
	struct pollfd fd = {.fd = c->fd, .events = POLLOUT};
	int e = 0;
	socklen_t len = sizeof(e);

	/* The event may be of the address before, which was given up in this same pump. */
	if (poll(&fd, 1, 0) == 0)
		return 0;
	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &e, &len) < 0)
		e = errno;
	if (e == 0)
		return become_open(c, err);
	close_try(c, e);
	return relay_open_next(c, err);
}

/* ---- addresses ---- */

/*
 * A name is allowed for what it says in TLS: where a program speaks first it is heard before
 * anything is sent, and elsewhere before its first bytes are.
 */
static bool must_check_greeting(const struct relay_conn *c)
{
	enum sbx_network_mode mode = c->relay->network->mode;

	return c->host.kind == HOST_IS_NAME &&
	       (mode == SBX_NETWORK_ALLOW || mode == SBX_NETWORK_PACKAGES);
}

/* Those that may be connected to stay; when there is none, the last verdict says why. */
static void judge_addresses(struct relay_conn *c, struct sbx_verdict *ret)
{
	size_t kept = 0;

	*ret = (struct sbx_verdict){.allowed = false, .text = "the name has no address"};
	for (c->address_at = 0; c->address_at < c->address_count; c->address_at++) {
		if (relay_may_try(c, ret))
			c->addresses[kept++] = c->addresses[c->address_at];
	}
	ret->allowed = kept > 0;
	c->address_count = kept > 0 ? kept : c->address_count;
	c->address_at = 0;
}

static int go_on_with_addresses(struct relay_conn *c, struct sbx_error *err)
{
	struct sbx_verdict verdict;

	judge_addresses(c, &verdict);
	if (!verdict.allowed)
		return relay_refuse(c, WIRE_REFUSED_DENIED, verdict.text, err);
	c->checks_greeting = must_check_greeting(c);
	if (!c->checks_greeting || c->port != HTTPS_PORT)
		return relay_open_next(c, err);
	c->state = RELAY_GREETING;
	set_deadline(c);
	return send_opened(c, err);
}

/* c-ares has no way to hand an error up; a full stream then ends with the next message. */
static void on_resolved(void *owner, const struct address *addresses, size_t count, const char *why)
{
	struct relay_conn *c = owner;
	struct sbx_error err;

	c->question = NULL;
	if (why != NULL) {
		relay_refuse(c, WIRE_REFUSED_NAME, why, &err);
		return;
	}
	memcpy(c->addresses, addresses, count * sizeof(addresses[0]));
	c->address_count = count;
	go_on_with_addresses(c, &err);
}

static int find_addresses(struct relay_conn *c, struct sbx_error *err)
{
	struct resolver *resolver;
	int r;

	if (c->host.kind == HOST_IS_ADDRESS) {
		c->addresses[0] = c->host.address;
		c->address_count = 1;
		return go_on_with_addresses(c, err);
	}
	r = relay_resolver(c->relay, &resolver, err);
	if (r == 0)
		r = resolver_ask(resolver, c->host.name, on_resolved, c, &c->question, err);
	return r < 0 ? relay_refuse(c, WIRE_REFUSED_NAME, err->msg, err) : 0;
}

/* ---- a new one ---- */

static struct relay_conn *add_conn(struct sbx_relay *relay, uint32_t channel,
				   struct wire_connect *m)
{
	struct relay_conn *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->relay = relay;
	c->channel = channel;
	c->how = (enum wire_how)m->how;
	c->port = m->port;
	c->fd = -1;
	c->credit = WIRE_CONNECTION_WINDOW;
	c->up = (struct sbx_buf)SBX_BUF_INIT(WIRE_CONNECTION_WINDOW);
	c->asked = take_ptr(m->host);
	set_deadline(c);
	host_parse(c->asked, &c->host);
	relay_note_begin(c, c->asked);
	c->next = relay->conns;
	relay->conns = c;
	relay->count++;
	return c;
}

static int judge(struct relay_conn *c, struct sbx_error *err)
{
	struct sbx_relay *relay = c->relay;
	char why[96];

	sbx_network_judge_host(relay->network, c->asked, c->port, &c->verdict);
	if (!c->verdict.allowed)
		return relay_refuse(c, WIRE_REFUSED_DENIED, c->verdict.text, err);
	if (relay->count > relay->network->limits.connections) {
		snprintf(why, sizeof(why), "%u connections at one time are the most (a limit)",
			 relay->network->limits.connections);
		return relay_refuse(c, WIRE_REFUSED_LIMIT, why, err);
	}
	if (relay_limits_are_over(&relay->limits))
		return relay_refuse(c, WIRE_REFUSED_LIMIT,
				    "the session has used up its bytes (a limit)", err);
	return find_addresses(c, err);
}

int relay_conn_begin(struct sbx_relay *relay, const struct wire_frame *frame, struct sbx_error *err)
{
	struct relay_conn *c;
	struct wire_connect m;
	int r = 0;

	if (!wire_connect_parse(frame->payload, frame->len, &m))
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent a malformed CONNECT");
	if (m.fault[0] != '\0') {
		relay_note_fault(relay, &m);
	} else {
		c = add_conn(relay, frame->channel, &m);
		r = c != NULL ? judge(c, err)
			      : sbx_fail_errno(err, ENOMEM, "cannot open a connection");
	}
	wire_connect_done(&m);
	return r;
}

/* ---- what a program says first ---- */

static bool is_same_name(const struct relay_conn *c, const struct host *named)
{
	return named->kind == HOST_IS_NAME && strcmp(named->name, c->host.name) == 0;
}

/* NULL, or why what it asks for in TLS is not what it was allowed. */
static const char *judge_name_in_tls(struct relay_conn *c, const char *name, char why[256])
{
	struct sbx_verdict verdict;
	char shown[100];
	struct host named;

	host_parse(name, &named);
	if (is_same_name(c, &named))
		return NULL;
	sbx_network_judge_host(c->relay->network, name, c->port, &verdict);
	if (verdict.allowed)
		return NULL;
	host_clean(name, shown, sizeof(shown));
	snprintf(why, 256, "TLS asks for '%.60s' there: %.150s", shown, verdict.text);
	return why;
}

int relay_open_greeting(struct relay_conn *c, struct sbx_error *err)
{
	char name[HOST_NAME_MAX_BYTES + 1], text[256];
	const char *why = NULL;
	enum sni_outcome outcome =
		sni_parse((uint8_t *)c->up.data + c->up_at, c->up.len - c->up_at, name);

	if (outcome == SNI_MORE && !c->up_ended && ++c->pieces < PIECES_MAX)
		return 0;
	if (outcome == SNI_WRONG || (outcome == SNI_MORE && relay_has_up(c)))
		why = "it begins like TLS and is no proper ClientHello";
	else if (outcome == SNI_NAME)
		why = judge_name_in_tls(c, name, text);
	if (why != NULL) {
		relay_log_set(&c->relay->log, c->number, SBX_EGRESS_DENIED, NULL, why);
		relay_conn_bury(c);
		return sbx_conn_queue(c->relay->stream, WIRE_CLOSE, c->channel, NULL, 0, err);
	}
	c->checks_greeting = false;
	if (c->state == RELAY_OPEN)
		return relay_flush_up(c, err);
	set_deadline(c);
	return relay_open_next(c, err);
}

/* ---- time ---- */

int relay_open_expire(struct relay_conn *c, struct sbx_error *err)
{
	if (c->state == RELAY_RESOLVING)
		return relay_refuse(c, WIRE_REFUSED_TIMEOUT,
				    "its name could not be looked up in time", err);
	if (c->state == RELAY_GREETING)
		return relay_refuse(
			c, WIRE_REFUSED_TIMEOUT,
			"cut: the program said nothing, and on port 443 it speaks first", err);
	close_try(c, ETIMEDOUT);
	return relay_open_next(c, err);
}
