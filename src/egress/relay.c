/* SPDX-License-Identifier: MIT */
#include "egress/relay.h"

#include "base/clock.h"
#include "base/splice.h"
#include "egress/relay_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS_A_PUMP 64
#define STREAM_MOST   (1u << 20) /* queued on the stream: beyond that no peer is read */

/* ---- birth and death ---- */

static int watch_own(struct sbx_relay *relay, int fd, void *mark)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = mark};

	return fd < 0 ? -1 : epoll_ctl(relay->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int open_descriptors(struct sbx_relay *relay, struct sbx_error *err)
{
	relay->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	relay->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	relay->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (relay->epoll_fd < 0 || watch_own(relay, relay->timer_fd, &relay->timer_fd) < 0 ||
	    watch_own(relay, relay->wake_fd, &relay->wake_fd) < 0)
		return sbx_fail_errno(err, errno, "cannot start the session's network");
	return 0;
}

int sbx_relay_new(struct sbx_conn *conn, const struct sbx_network *network, uint64_t started_ns,
		  struct sbx_relay **ret, struct sbx_error *err)
{
	struct sbx_relay *relay = calloc(1, sizeof(*relay));
	int r;

	if (relay == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot start the session's network");
	relay->stream = conn;
	relay->started_ns = started_ns;
	relay->now_ns = sbx_now_ns();
	relay->epoll_fd = relay->timer_fd = relay->wake_fd = relay->pipe[0] = relay->pipe[1] = -1;
	relay_log_init(&relay->log);
	pthread_mutex_init(&relay->lock, NULL);
	r = open_descriptors(relay, err);
	if (r == 0) {
		relay->network = sbx_network_copy(network);
		if (relay->network == NULL)
			r = sbx_fail_errno(err, ENOMEM, "cannot start the session's network");
	}
	if (r < 0) {
		sbx_relay_free(relay);
		return r;
	}
	relay_limits_set(&relay->limits, &network->limits, relay->now_ns);
	sbx_conn_widen(conn);
	*ret = relay;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void sbx_relay_free(struct sbx_relay *relay)
{
	struct relay_conn *next;

	if (relay == NULL)
		return;
	for (struct relay_conn *c = relay->conns; c != NULL; c = next) {
		next = c->next;
		relay_conn_free(c);
	}
	resolver_free(relay->resolver);
	relay->stream->bulk_in.take = NULL;
	close_fd(relay->pipe[0]);
	close_fd(relay->pipe[1]);
	close_fd(relay->wake_fd);
	close_fd(relay->timer_fd);
	close_fd(relay->epoll_fd);
	sbx_network_free(relay->network);
	sbx_network_free(relay->pending);
	relay_log_done(&relay->log);
	pthread_mutex_destroy(&relay->lock);
	free(relay);
}

int sbx_relay_fd(const struct sbx_relay *relay)
{
	return relay->epoll_fd;
}

int relay_resolver(struct sbx_relay *relay, struct resolver **ret, struct sbx_error *err)
{
	int r = relay->resolver ? 0 : resolver_new(&relay->resolver, err);

	if (r < 0)
		return r;
	if (watch_own(relay, resolver_fd(relay->resolver), &relay->resolver) < 0 && errno != EEXIST)
		return sbx_fail_errno(err, errno, "cannot look up names");
	*ret = relay->resolver;
	return 0;
}

/* ---- the rules ---- */

int sbx_relay_set_network(struct sbx_relay *relay, const struct sbx_network *network,
			  struct sbx_error *err)
{
	struct sbx_network *copy = sbx_network_copy(network), *old;

	if (copy == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot change the session's network");
	pthread_mutex_lock(&relay->lock);
	old = relay->pending;
	relay->pending = copy;
	atomic_store(&relay->has_pending, true);
	pthread_mutex_unlock(&relay->lock);
	sbx_network_free(old);
	eventfd_write(relay->wake_fd, 1);
	return 0;
}

/* Before anything else is done: so whatever is judged is judged by the latest rules. */
static int heed_new_rules(struct sbx_relay *relay, struct sbx_error *err)
{
	struct sbx_network *network;
	int r = 0;

	if (!atomic_load(&relay->has_pending))
		return 0;
	pthread_mutex_lock(&relay->lock);
	network = relay->pending;
	relay->pending = NULL;
	atomic_store(&relay->has_pending, false);
	pthread_mutex_unlock(&relay->lock);
	if (network == NULL)
		return 0;
	sbx_network_free(relay->network);
	relay->network = network;
	relay_limits_set(&relay->limits, &network->limits, relay->now_ns);
	for (struct relay_conn *c = relay->conns; r == 0 && c != NULL; c = c->next)
		r = relay_conn_rejudge(c, err);
	return r;
}

int sbx_relay_log(struct sbx_relay *relay, uint64_t from, struct sbx_egress **ret,
		  size_t *ret_count, uint64_t *ret_total, struct sbx_error *err)
{
	return relay_log_read(&relay->log, from, ret, ret_count, ret_total, err);
}

/* ---- time ---- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

static uint64_t next_deadline_ns(struct sbx_relay *relay)
{
	uint64_t first = relay->resolver ? resolver_deadline_ns(relay->resolver) : 0;

	if (relay->is_paused)
		first = earlier(first, relay_limits_wait_ns(&relay->limits, relay->now_ns));
	for (struct relay_conn *c = relay->conns; c != NULL; c = c->next)
		first = earlier(first, relay_conn_deadline_ns(c));
	return first;
}

/* A timer that comes too early only looks again: it need not follow every byte that moves. */
static void set_timer(struct sbx_relay *relay)
{
	uint64_t at = next_deadline_ns(relay);
	struct itimerspec when = {
		.it_value = {.tv_sec = (time_t)(at / SBX_NS_PER_S),
			     .tv_nsec = (long)(at % SBX_NS_PER_S)},
	};

	if (at == relay->timer_ns || (at != 0 && relay->timer_ns != 0 && relay->timer_ns < at &&
				      relay->timer_ns > relay->now_ns))
		return;
	timerfd_settime(relay->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
	relay->timer_ns = at;
}

static int heed_time(struct sbx_relay *relay, struct sbx_error *err)
{
	uint64_t ignored;
	int r = 0;

	if (read(relay->timer_fd, &ignored, sizeof(ignored)) < 0)
		return 0;
	relay->timer_ns = 0;
	if (relay->resolver != NULL)
		resolver_pump(relay->resolver);
	for (struct relay_conn *c = relay->conns; r == 0 && c != NULL; c = c->next)
		r = relay_conn_expire(c, err);
	return r;
}

/* ---- the rate ---- */

/* None is watched while no byte may pass. */
static void heed_rate(struct sbx_relay *relay)
{
	bool was_paused = relay->is_paused;

	relay->is_paused = relay_limits_wait_ns(&relay->limits, relay->now_ns) != 0;
	if (was_paused == relay->is_paused)
		return;
	for (struct relay_conn *c = relay->conns; c != NULL; c = c->next)
		relay_conn_watch(c);
}

/* ---- all of them ---- */

static void sweep(struct sbx_relay *relay)
{
	struct relay_conn **at = &relay->conns;

	while (*at != NULL) {
		struct relay_conn *c = *at;

		if (c->state != RELAY_DEAD) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		relay_conn_free(c);
	}
}

/* ---- bulk ---- */

static struct relay_conn *find(const struct sbx_relay *relay, uint32_t channel);

static size_t take_bulk(void *owner, uint32_t channel, int stream_fd, size_t len)
{
	struct sbx_relay *relay = owner;
	struct relay_conn *c = find(relay, channel);

	/* New rules are for sbx_relay_take() to heed. */
	if (c == NULL || atomic_load(&relay->has_pending) ||
	    (relay->pipe[0] < 0 && sbx_splice_pipe(relay->pipe, WIRE_CONNECTION_WINDOW) < 0))
		return 0;
	relay->now_ns = sbx_now_ns();
	return relay_conn_take_bulk(c, stream_fd, len);
}

/* While something is open, payloads are offered to us before they are read. */
static void offer_bulk(struct sbx_relay *relay)
{
	bool is_wanted = false;

	for (struct relay_conn *c = relay->conns; c != NULL && !is_wanted; c = c->next)
		is_wanted = c->state == RELAY_OPEN;
	relay->stream->bulk_in.owner = relay;
	relay->stream->bulk_in.take = is_wanted ? take_bulk : NULL;
}

static int begin_call(struct sbx_relay *relay, struct sbx_error *err)
{
	relay->now_ns = sbx_now_ns();
	return heed_new_rules(relay, err);
}

static int end_call(struct sbx_relay *relay, int r)
{
	heed_rate(relay);
	sweep(relay);
	offer_bulk(relay);
	set_timer(relay);
	return r;
}

static struct relay_conn *find(const struct sbx_relay *relay, uint32_t channel)
{
	for (struct relay_conn *c = relay->conns; c != NULL; c = c->next) {
		if (c->channel == channel && c->state != RELAY_DEAD)
			return c;
	}
	return NULL;
}

int sbx_relay_take(struct sbx_relay *relay, const struct wire_frame *frame, struct sbx_error *err)
{
	struct relay_conn *c;
	int r = begin_call(relay, err);

	if (r < 0)
		return end_call(relay, r);
	c = find(relay, frame->channel);
	if (frame->type == WIRE_CONNECT && c != NULL)
		r = sbx_fail(err, SBX_E_PROTOCOL, "the sandbox opened a connection twice");
	else if (frame->type == WIRE_CONNECT)
		r = relay_conn_begin(relay, frame, err);
	else if (c != NULL)
		r = relay_conn_take(c, frame, err);
	else if (frame->type != WIRE_DATA && frame->type != WIRE_CREDIT &&
		 frame->type != WIRE_FINISH && frame->type != WIRE_CLOSE)
		r = sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent %s for a connection",
			     wire_type_name(frame->type));
	return end_call(relay, r);
}

static int heed_event(struct sbx_relay *relay, const struct epoll_event *event,
		      struct sbx_error *err)
{
	void *mark = event->data.ptr;
	eventfd_t ignored;

	if (mark == &relay->timer_fd)
		return heed_time(relay, err);
	if (mark == &relay->wake_fd) {
		eventfd_read(relay->wake_fd, &ignored);
		return 0;
	}
	if (mark == &relay->resolver) {
		resolver_pump(relay->resolver);
		return 0;
	}
	if (sbx_conn_queued(relay->stream) >= STREAM_MOST)
		return 0;
	return relay_conn_pump(mark, event->events, err);
}

int sbx_relay_pump(struct sbx_relay *relay, struct sbx_error *err)
{
	struct epoll_event events[EVENTS_A_PUMP];
	int r = begin_call(relay, err);
	int n = epoll_wait(relay->epoll_fd, events, EVENTS_A_PUMP, 0);

	for (int i = 0; r == 0 && i < n; i++)
		r = heed_event(relay, &events[i], err);
	return end_call(relay, r);
}
