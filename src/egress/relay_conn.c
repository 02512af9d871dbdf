/* SPDX-License-Identifier: MIT */
#include "egress/relay_inside.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/splice.h"
#include "egress/sni.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define HTTPS_PORT   443
#define GRANT_SIZE   (WIRE_CONNECTION_WINDOW / 4)
#define READS_A_TURN 4
#define PIECES_MAX   256 /* that the first words of a program come in */

/* ---- birth and death ---- */

/* Another process may have a copy of the descriptor: then its end alone would not stop the watch. */
static void close_peer(struct relay_conn *c)
{
	if (c->watched != 0)
		epoll_ctl(c->relay->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->watched = 0;
}

void relay_conn_bury(struct relay_conn *c)
{
	if (c->state == RELAY_DEAD)
		return;
	c->state = RELAY_DEAD;
	c->relay->count--;
	question_forget(c->question);
	c->question = NULL;
	close_peer(c);
}

void relay_conn_free(struct relay_conn *c)
{
	relay_conn_bury(c);
	sbx_buf_done(&c->up);
	free(c->asked);
	free(c);
}

/* ---- waiting ---- */

static bool has_up(const struct relay_conn *c)
{
	return c->up_at < c->up.len;
}

/* Who sends much does not begin with what a nearly empty window still takes: more is to come. */
static bool has_credit(const struct relay_conn *c)
{
	return c->credit >= (c->is_bulky ? SBX_BULK_LEAST : 1);
}

static uint32_t wanted_events(const struct relay_conn *c)
{
	uint32_t events = 0;

	if (c->state == RELAY_CONNECTING)
		return EPOLLOUT;
	if (c->state != RELAY_OPEN || c->relay->is_paused)
		return 0;
	if (!c->down_ended && has_credit(c))
		events |= EPOLLIN;
	if (has_up(c) && !c->checks_greeting)
		events |= EPOLLOUT;
	return events;
}

void relay_conn_watch(struct relay_conn *c)
{
	uint32_t wanted = wanted_events(c);
	struct epoll_event event = {.events = wanted, .data.ptr = c};
	int op = wanted == 0 ? EPOLL_CTL_DEL : c->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (wanted == c->watched || c->fd < 0)
		return;
	epoll_ctl(c->relay->epoll_fd, op, c->fd, &event);
	c->watched = wanted;
}

uint64_t relay_conn_deadline_ns(const struct relay_conn *c)
{
	if (c->state == RELAY_DEAD)
		return 0;
	if (c->state == RELAY_OPEN)
		return c->last_ns + c->relay->network->limits.idle_timeout_ms * SBX_NS_PER_MS;
	return c->try_ns != 0 && c->try_ns < c->deadline_ns ? c->try_ns : c->deadline_ns;
}

/* ---- the peer: from here to its connection ---- */

static int send_opened(struct relay_conn *c, struct sbx_error *err)
{
	c->told = true;
	return sbx_conn_queue(c->relay->stream, WIRE_OPENED, c->channel, NULL, 0, err);
}

static int flush_up(struct relay_conn *c, struct sbx_error *err);

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
		r = flush_up(c, err);
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
	close_peer(c);
	c->address_at++;
}

/* Judged again just here: this address, and no other, is what the kernel is asked for. */
static bool may_try(struct relay_conn *c, struct sbx_verdict *verdict)
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
static int connect_next(struct relay_conn *c, struct sbx_error *err)
{
	struct sbx_verdict verdict = {.allowed = true};

	c->state = RELAY_CONNECTING;
	for (; c->address_at < c->address_count; close_try(c, c->sys_errno)) {
		uint64_t now = c->relay->now_ns, left;

		if (!may_try(c, &verdict))
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

static int on_connected(struct relay_conn *c, struct sbx_error *err)
{
	int e = 0;
	socklen_t len = sizeof(e);

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &e, &len) < 0)
		e = errno;
	if (e == 0)
		return become_open(c, err);
	close_try(c, e);
	return connect_next(c, err);
}

/* ---- addresses ---- */

/*
 * A name is allowed for what it says in TLS: where a program speaks first it is heard before
 * anything is sent, and elsewhere before its first bytes are.
 */
static bool must_check_greeting(const struct relay_conn *c)
{
	enum sbx_network_mode mode = c->relay->network->mode;

	return c->host.kind == HOST_IS_NAME && c->how != WIRE_HOW_HTTP &&
	       (mode == SBX_NETWORK_ALLOW || mode == SBX_NETWORK_PACKAGES);
}

/* Those that may be connected to stay; when there is none, the last verdict says why. */
static void judge_addresses(struct relay_conn *c, struct sbx_verdict *ret)
{
	size_t kept = 0;

	*ret = (struct sbx_verdict){.allowed = false, .text = "the name has no address"};
	for (c->address_at = 0; c->address_at < c->address_count; c->address_at++) {
		if (may_try(c, ret))
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
		return connect_next(c, err);
	c->state = RELAY_GREETING;
	return send_opened(c, err);
}

/* c-ares has no way to hand an error up; a full stream then ends with the next message. */
static void on_resolved(void *owner, const struct address *addresses, size_t count,
			const char *why)
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
	c->deadline_ns =
		relay->now_ns + relay->network->limits.connect_timeout_ms * SBX_NS_PER_MS;
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
		return relay_refuse(c, WIRE_REFUSED_LIMIT, "the session has used up its bytes (a limit)",
				    err);
	return find_addresses(c, err);
}

int relay_conn_begin(struct sbx_relay *relay, const struct wire_frame *frame,
		     struct sbx_error *err)
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
		r = c != NULL ? judge(c, err) : sbx_fail_errno(err, ENOMEM, "cannot open a connection");
	}
	wire_connect_done(&m);
	return r;
}

/* ---- from the program to the peer ---- */

static void count_up(struct relay_conn *c, size_t n)
{
	relay_limits_spend(&c->relay->limits, n);
	relay_log_count(&c->relay->log, c->number, n, 0);
	c->last_ns = c->relay->now_ns;
}

/* What waits here is not consumed yet. */
static int grant(struct relay_conn *c, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(64);
	size_t waiting = c->up.len - c->up_at;
	struct wire_credit m = {.flow = WIRE_FLOW_DATA, .bytes = (uint32_t)(c->owed - waiting)};

	if (c->up_ended || c->owed < waiting + GRANT_SIZE)
		return 0;
	c->owed = waiting;
	wire_credit_format(&payload, &m);
	return sbx_conn_queue(c->relay->stream, WIRE_CREDIT, c->channel, payload.data, payload.len,
			      err);
}

static int end_if_both_ended(struct relay_conn *c)
{
	if (c->up_ended && !has_up(c) && !c->up_shut) {
		shutdown(c->fd, SHUT_WR);
		c->up_shut = true;
	}
	if (c->up_shut && c->down_ended)
		relay_conn_bury(c);
	return 0;
}

static int end_at_limit(struct relay_conn *c, struct sbx_error *err)
{
	return relay_refuse(c, WIRE_REFUSED_LIMIT, "cut: the session has used up its bytes (a limit)",
			    err);
}

static int lose_peer(struct relay_conn *c, int sys_errno, struct sbx_error *err)
{
	char why[128];

	snprintf(why, sizeof(why), "cut by the peer: %.100s", strerror(sys_errno));
	return relay_refuse(c, WIRE_REFUSED_PEER, why, err);
}

/* Write what may be written and what the peer takes: the bytes, or -errno. */
static ssize_t write_up(struct relay_conn *c, const void *data, size_t len)
{
	size_t may = relay_limits_allow(&c->relay->limits, len, c->relay->now_ns);
	ssize_t n = may > 0 ? send(c->fd, data, may, MSG_NOSIGNAL) : 0;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n > 0)
		count_up(c, (size_t)n);
	return n;
}

static int flush_up(struct relay_conn *c, struct sbx_error *err)
{
	int r;

	while (has_up(c) && !c->checks_greeting) {
		ssize_t n = write_up(c, c->up.data + c->up_at, c->up.len - c->up_at);

		if (n < 0)
			return lose_peer(c, (int)-n, err);
		if (n == 0)
			break;
		c->up_at += (size_t)n;
	}
	if (!has_up(c))
		c->up.len = c->up_at = 0;
	if (relay_limits_are_over(&c->relay->limits))
		return end_at_limit(c, err);
	r = grant(c, err);
	return r < 0 ? r : end_if_both_ended(c);
}

/* What the peer does not take at once is copied and waits, so that the pipe is empty again. */
static void keep_rest(struct relay_conn *c, int pipe, size_t len)
{
	char *at = sbx_buf_reserve(&c->up, len);
	ssize_t n = at ? read(pipe, at, len) : -1;

	if (n == (ssize_t)len)
		c->up.len += len;
	else
		c->up.failed = true;
}

static bool may_take_bulk(struct relay_conn *c, size_t len)
{
	return c->state == RELAY_OPEN && !c->checks_greeting && !c->up_ended && !has_up(c) &&
	       len >= SBX_BULK_LEAST && len <= WIRE_CONNECTION_WINDOW - c->owed &&
	       relay_limits_allow(&c->relay->limits, len, c->relay->now_ns) == len;
}

size_t relay_conn_take_bulk(struct relay_conn *c, int stream_fd, size_t len)
{
	const int *pipe = c->relay->pipe;
	ssize_t n, passed = 0, m = 1;
	struct sbx_error err;

	if (!may_take_bulk(c, len))
		return 0;
	n = sbx_splice_in(stream_fd, pipe[1], len);
	if (n <= 0)
		return 0;
	c->owed += (size_t)n;
	for (; passed < n && m > 0; passed += m > 0 ? m : 0)
		m = sbx_splice_out(pipe[0], c->fd, (size_t)(n - passed));
	count_up(c, (size_t)passed);
	if (passed < n)
		keep_rest(c, pipe[0], (size_t)(n - passed));
	/* A stream that takes nothing more ends with the next message. */
	if (c->up.failed)
		lose_peer(c, ENOMEM, &err);
	else
		flush_up(c, &err);
	if (c->state != RELAY_DEAD)
		relay_conn_watch(c);
	return (size_t)n;
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

static int check_greeting(struct relay_conn *c, struct sbx_error *err)
{
	char name[HOST_NAME_MAX_BYTES + 1], text[256];
	const char *why = NULL;
	enum sni_outcome outcome =
		sni_parse((uint8_t *)c->up.data + c->up_at, c->up.len - c->up_at, name);

	if (outcome == SNI_MORE && !c->up_ended && ++c->pieces < PIECES_MAX)
		return 0;
	if (outcome == SNI_WRONG || (outcome == SNI_MORE && has_up(c)))
		why = "it begins like TLS and is no proper ClientHello";
	else if (outcome == SNI_NAME)
		why = judge_name_in_tls(c, name, text);
	if (why != NULL) {
		relay_log_set(&c->relay->log, c->number, SBX_EGRESS_DENIED, NULL, why);
		relay_conn_bury(c);
		return sbx_conn_queue(c->relay->stream, WIRE_CLOSE, c->channel, NULL, 0, err);
	}
	c->checks_greeting = false;
	return c->state == RELAY_GREETING ? connect_next(c, err) : flush_up(c, err);
}

/* ---- frames ---- */

static int break_off(const struct wire_frame *frame, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent a %s for a connection out of turn",
			wire_type_name(frame->type));
}

/* At once, where nothing waits before it; else behind what waits. */
static int take_data(struct relay_conn *c, const struct wire_frame *frame, struct sbx_error *err)
{
	ssize_t n = 0;

	if (!c->told || c->up_ended || frame->len > WIRE_CONNECTION_WINDOW - c->owed)
		return break_off(frame, err);
	c->owed += frame->len;
	if (c->state == RELAY_OPEN && !c->checks_greeting && !has_up(c) && frame->len > 0)
		n = write_up(c, frame->payload, frame->len);
	if (n < 0)
		return lose_peer(c, (int)-n, err);
	if ((size_t)n < frame->len) {
		sbx_buf_consume(&c->up, c->up_at);
		c->up_at = 0;
		sbx_buf_append(&c->up, frame->payload + n, frame->len - (size_t)n);
		if (c->up.failed)
			return sbx_fail_errno(err, ENOMEM, "cannot keep what a program sends");
	}
	if (c->checks_greeting)
		return check_greeting(c, err);
	return c->state == RELAY_OPEN ? flush_up(c, err) : 0;
}

static int take_finish(struct relay_conn *c, const struct wire_frame *frame,
		       struct sbx_error *err)
{
	if (!c->told || c->up_ended)
		return break_off(frame, err);
	c->up_ended = true;
	if (c->checks_greeting)
		return check_greeting(c, err);
	return c->state == RELAY_OPEN ? flush_up(c, err) : 0;
}

static int take_credit(struct relay_conn *c, const struct wire_frame *frame,
		       struct sbx_error *err)
{
	struct wire_credit m;

	if (!c->told || !wire_credit_parse(frame->payload, frame->len, &m) ||
	    m.flow != WIRE_FLOW_DATA || m.bytes > WIRE_CONNECTION_WINDOW - c->credit)
		return break_off(frame, err);
	c->credit += m.bytes;
	return 0;
}

int relay_conn_take(struct relay_conn *c, const struct wire_frame *frame, struct sbx_error *err)
{
	int r;

	if (frame->type == WIRE_DATA)
		r = take_data(c, frame, err);
	else if (frame->type == WIRE_FINISH)
		r = take_finish(c, frame, err);
	else if (frame->type == WIRE_CREDIT)
		r = take_credit(c, frame, err);
	else if (frame->type == WIRE_CLOSE)
		r = (relay_conn_bury(c), 0);
	else
		r = break_off(frame, err);
	if (r == 0 && c->state != RELAY_DEAD)
		relay_conn_watch(c);
	return r;
}

/* ---- from the peer to the program ---- */

static int finish_down(struct relay_conn *c, struct sbx_error *err)
{
	int r = sbx_conn_queue(c->relay->stream, WIRE_FINISH, c->channel, NULL, 0, err);

	c->down_ended = true;
	return r < 0 ? r : end_if_both_ended(c);
}

static int count_down(struct relay_conn *c, size_t n, struct sbx_error *err)
{
	c->credit -= n;
	relay_limits_spend(&c->relay->limits, n);
	relay_log_count(&c->relay->log, c->number, 0, n);
	c->last_ns = c->relay->now_ns;
	return relay_limits_are_over(&c->relay->limits) ? end_at_limit(c, err) : 0;
}

/* As read_piece(), without a copy; *ret_done is false where reading must tell. */
static int splice_piece(struct relay_conn *c, size_t most, bool *ret_done, struct sbx_error *err)
{
	ssize_t n = sbx_conn_splice(c->relay->stream, c->channel, c->fd, most);
	int r;

	c->is_bulky = n >= (ssize_t)SBX_BULK_LEAST;
	*ret_done = n != -EAGAIN;
	if (n == -EAGAIN)
		return 0;
	if (n == 0)
		return finish_down(c, err);
	if (n < 0)
		return lose_peer(c, (int)-n, err);
	r = count_down(c, (size_t)n, err);
	return r < 0 ? r : 1;
}

/* Read once, straight into the stream's queue: 1 when there may be more, 0, or -code. */
static int read_piece(struct relay_conn *c, struct sbx_error *err)
{
	struct relay_limits *limits = &c->relay->limits;
	size_t most = c->credit < WIRE_PAYLOAD_MAX ? c->credit : WIRE_PAYLOAD_MAX;
	bool done;
	ssize_t n;
	char *at;
	int r;

	if (relay_limits_are_over(limits))
		return end_at_limit(c, err);
	most = relay_limits_allow(limits, most, c->relay->now_ns);
	if (most == 0)
		return 0;
	if (c->is_bulky && most >= SBX_BULK_LEAST) {
		r = splice_piece(c, most, &done, err);
		if (done)
			return r;
	}
	at = sbx_conn_begin(c->relay->stream, most, err);
	if (at == NULL)
		return -(int)err->code;
	n = recv(c->fd, at, most, 0);
	if (n == 0)
		return finish_down(c, err);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : lose_peer(c, errno, err);
	sbx_conn_commit(c->relay->stream, WIRE_DATA, c->channel, (size_t)n);
	if (most >= 2 * SBX_BULK_LEAST)
		c->is_bulky = n >= (ssize_t)(2 * SBX_BULK_LEAST);
	r = count_down(c, (size_t)n, err);
	return r < 0 ? r : (size_t)n == most;
}

static int read_down(struct relay_conn *c, struct sbx_error *err)
{
	int r = 1;

	for (int i = 0; i < READS_A_TURN && r > 0; i++) {
		if (c->state != RELAY_OPEN || c->down_ended || !has_credit(c))
			return 0;
		r = read_piece(c, err);
	}
	return r < 0 ? r : 0;
}

int relay_conn_pump(struct relay_conn *c, uint32_t events, struct sbx_error *err)
{
	int r = 0;

	if (c->state == RELAY_CONNECTING)
		r = on_connected(c, err);
	else if (c->state == RELAY_OPEN && events & EPOLLOUT)
		r = flush_up(c, err);
	if (r == 0 && c->state == RELAY_OPEN && events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		r = read_down(c, err);
	if (c->state != RELAY_DEAD)
		relay_conn_watch(c);
	return r;
}

/* ---- time and rules ---- */

static int expire_opening(struct relay_conn *c, struct sbx_error *err)
{
	if (c->state == RELAY_RESOLVING)
		return relay_refuse(c, WIRE_REFUSED_TIMEOUT,
				    "its name could not be looked up in time", err);
	if (c->state == RELAY_GREETING)
		return relay_refuse(c, WIRE_REFUSED_TIMEOUT,
				    "cut: the program said nothing, and on port 443 it speaks first",
				    err);
	close_try(c, ETIMEDOUT);
	return connect_next(c, err);
}

int relay_conn_expire(struct relay_conn *c, struct sbx_error *err)
{
	uint64_t deadline_ns = relay_conn_deadline_ns(c);

	if (deadline_ns == 0 || deadline_ns > c->relay->now_ns)
		return 0;
	if (c->state == RELAY_OPEN)
		return relay_refuse(c, WIRE_REFUSED_TIMEOUT, "cut: no byte moved for too long (a limit)",
				    err);
	return expire_opening(c, err);
}

int relay_conn_rejudge(struct relay_conn *c, struct sbx_error *err)
{
	struct sbx_verdict verdict = {.allowed = true};

	if (c->state == RELAY_DEAD)
		return 0;
	sbx_network_judge_host(c->relay->network, c->asked, c->port, &c->verdict);
	if (c->verdict.allowed &&
	    (c->state != RELAY_CONNECTING && c->state != RELAY_OPEN ? true : may_try(c, &verdict)))
		return 0;
	if (c->state != RELAY_OPEN)
		return relay_refuse(c, WIRE_REFUSED_DENIED,
				    c->verdict.allowed ? verdict.text : c->verdict.text, err);
	return relay_refuse(c, WIRE_REFUSED_DENIED, "cut: the rules do not allow it any more", err);
}
