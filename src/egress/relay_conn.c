/* SPDX-License-Identifier: MIT */
#include "egress/relay_inside.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ---- birth and death ---- */

/* Another process may have a copy of the descriptor: then its end alone would not stop the watch. */
void relay_conn_close_peer(struct relay_conn *c)
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
	relay_conn_close_peer(c);
}

void relay_conn_free(struct relay_conn *c)
{
	relay_conn_bury(c);
	sbx_buf_done(&c->up);
	free(c->asked);
	free(c);
}

/* ---- waiting ---- */

static uint32_t wanted_events(const struct relay_conn *c)
{
	uint32_t events = 0;

	if (c->state == RELAY_CONNECTING)
		return EPOLLOUT;
	if (c->state != RELAY_OPEN || c->relay->is_paused)
		return 0;
	if (!c->down_ended && relay_has_credit(c))
		events |= EPOLLIN;
	if (relay_has_up(c) && !c->checks_greeting)
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
	if (c->state == RELAY_OPEN && !c->checks_greeting && !relay_has_up(c) && frame->len > 0)
		n = relay_write_up(c, frame->payload, frame->len);
	if (n < 0)
		return relay_lose_peer(c, (int)-n, err);
	if ((size_t)n < frame->len) {
		sbx_buf_consume(&c->up, c->up_at);
		c->up_at = 0;
		sbx_buf_append(&c->up, frame->payload + n, frame->len - (size_t)n);
		if (c->up.failed)
			return sbx_fail_errno(err, ENOMEM, "cannot keep what a program sends");
	}
	if (c->checks_greeting)
		return relay_open_greeting(c, err);
	return c->state == RELAY_OPEN ? relay_flush_up(c, err) : 0;
}

static int take_finish(struct relay_conn *c, const struct wire_frame *frame, struct sbx_error *err)
{
	if (!c->told || c->up_ended)
		return break_off(frame, err);
	c->up_ended = true;
	if (c->checks_greeting)
		return relay_open_greeting(c, err);
	return c->state == RELAY_OPEN ? relay_flush_up(c, err) : 0;
}

static int take_credit(struct relay_conn *c, const struct wire_frame *frame, struct sbx_error *err)
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

/* ---- the loop ---- */

int relay_conn_pump(struct relay_conn *c, uint32_t events, struct sbx_error *err)
{
	int r = 0;

	if (c->state == RELAY_CONNECTING)
		r = relay_open_done(c, err);
	else if (c->state == RELAY_OPEN && events & EPOLLOUT)
		r = relay_flush_up(c, err);
	if (r == 0 && c->state == RELAY_OPEN && events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		r = relay_read_down(c, err);
	if (c->state != RELAY_DEAD)
		relay_conn_watch(c);
	return r;
}

/* ---- time and rules ---- */

int relay_conn_expire(struct relay_conn *c, struct sbx_error *err)
{
	uint64_t deadline_ns = relay_conn_deadline_ns(c);

	if (deadline_ns == 0 || deadline_ns > c->relay->now_ns)
		return 0;
	if (c->state == RELAY_OPEN)
		return relay_refuse(c, WIRE_REFUSED_TIMEOUT,
				    "cut: no byte moved for too long (a limit)", err);
	return relay_open_expire(c, err);
}

int relay_conn_rejudge(struct relay_conn *c, struct sbx_error *err)
{
	struct sbx_verdict verdict = {.allowed = true};

	if (c->state == RELAY_DEAD)
		return 0;
	sbx_network_judge_host(c->relay->network, c->asked, c->port, &c->verdict);
	if (c->verdict.allowed &&
	    (c->state != RELAY_CONNECTING && c->state != RELAY_OPEN ? true
								    : relay_may_try(c, &verdict)))
		return 0;
	if (c->state != RELAY_OPEN)
		return relay_refuse(c, WIRE_REFUSED_DENIED,
				    c->verdict.allowed ? verdict.text : c->verdict.text, err);
	return relay_refuse(c, WIRE_REFUSED_DENIED, "cut: the rules do not allow it any more", err);
}
