/* SPDX-License-Identifier: MIT */
#include "core/link.h"

#include "base/clock.h"
#include "core/cancel.h"
#include "core/session.h"
#include "egress/relay.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PING_MS		20000 /* then it is asked whether it is there */
#define SILENCE_MS	60000 /* of an agent that owes an answer */
#define RELAY_QUEUE_MAX (1u << 20) /* beyond it the relay waits until the stream has taken some */

int sbx_link_init(struct sbx_link *link, struct sbx_session *session, struct sbx_error *err)
{
	*link = (struct sbx_link){.session = session};
	sbx_conn_init(&link->conn, -1, 'a');
	link->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (link->wake_fd < 0)
		return sbx_fail_errno(err, errno, "cannot open a session");
	return 0;
}

void sbx_link_done(struct sbx_link *link)
{
	sbx_relay_free(link->relay);
	sbx_conn_done(&link->conn);
	if (link->wake_fd >= 0)
		close(link->wake_fd);
	link->wake_fd = -1;
}

void sbx_link_wake(struct sbx_link *link)
{
	eventfd_write(link->wake_fd, 1);
}

/* ---- channels ---- */

void sbx_link_add(struct sbx_link *link, struct sbx_channel *ch)
{
	link->next_id = link->next_id % (WIRE_FROM_AGENT - 1) + 1;
	ch->id = link->next_id;
	ch->next = link->channels;
	link->channels = ch;
}

void sbx_link_remove(struct sbx_link *link, struct sbx_channel *ch)
{
	for (struct sbx_channel **at = &link->channels; *at != NULL; at = &(*at)->next) {
		if (*at != ch)
			continue;
		*at = ch->next;
		ch->next = NULL;
		return;
	}
}

int sbx_link_queue(struct sbx_link *link, enum wire_type type, uint32_t channel,
		   const void *payload, size_t len, struct sbx_error *err)
{
	return sbx_conn_queue(&link->conn, type, channel, payload, len, err);
}

size_t sbx_link_queued(const struct sbx_link *link)
{
	return sbx_conn_queued(&link->conn);
}

int sbx_link_refusal(const struct wire_frame *frame, struct sbx_error *err)
{
	struct wire_error m;

	if (!wire_error_parse(frame->payload, frame->len, &m))
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent a malformed ERROR");
	sbx_fail(err, (enum sbx_code)m.code, "%s", m.text);
	err->sys_errno = (int)m.sys_errno;
	wire_error_done(&m);
	return -(int)err->code;
}

/* ---- what comes in ---- */

static int take_usage(struct sbx_link *link, const struct wire_frame *frame, struct sbx_error *err)
{
	struct wire_usage m;

	if (!wire_usage_parse(frame->payload, frame->len, &m))
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent a malformed USAGE");
	link->session->told = (struct sbx_place_usage){
		.peak_memory_bytes = m.peak_memory_bytes, .oom_kills = m.oom_kills};
	return 0;
}

static int on_frame(struct sbx_link *link, const struct wire_frame *frame, struct sbx_error *err)
{
	if (frame->channel == 0 && frame->type == WIRE_ERROR) {
		/* The connection is over, whatever the reason. */
		sbx_link_refusal(frame, err);
		return sbx_wrap(err, "the sandbox gave up");
	}
	if (frame->channel == 0 && frame->type == WIRE_PONG)
		return 0;
	if (frame->channel == 0 && frame->type == WIRE_USAGE)
		return take_usage(link, frame, err);
	if (frame->channel & WIRE_FROM_AGENT && link->relay != NULL)
		return sbx_relay_take(link->relay, frame, err);
	for (struct sbx_channel *ch = link->channels; ch != NULL; ch = ch->next) {
		if (ch->id == frame->channel)
			return ch->on_frame(ch, frame, err);
	}
	/* Late words to an operation that is over; a channel that never was is out of step. */
	if (frame->channel != 0 && frame->channel <= link->next_id)
		return 0;
	return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent %s out of turn",
			wire_type_name(frame->type));
}

/* All that is whole of what has been read. */
static int act_on_frames(struct sbx_link *link, struct sbx_error *err)
{
	struct wire_frame frame;
	int r = 0;

	while (r == 0 && (r = sbx_conn_next(&link->conn, &frame, err)) > 0)
		r = on_frame(link, &frame, err);
	if (r == 0 && link->conn.eof)
		link->lost = true;
	return r;
}

static int take_frames(struct sbx_link *link, struct sbx_error *err)
{
	int r = sbx_conn_fill(&link->conn, err);

	link->heard_ns = sbx_now_ns();
	link->pinged = false;
	return r < 0 ? r : act_on_frames(link, err);
}

/* The first turn of a session; more may have come with the greeting. */
static int await_greeting(struct sbx_link *link, struct sbx_cancel *cancel, struct sbx_error *err)
{
	int r = sbx_session_greet(link->session, cancel, err);

	return r < 0 ? r : act_on_frames(link, err);
}

/* ---- a turn ---- */

static int ask_channels(struct sbx_link *link, struct sbx_error *err)
{
	struct sbx_channel *next;
	int r = 0;

	for (struct sbx_channel *ch = link->channels; r == 0 && ch != NULL; ch = next) {
		next = ch->next;
		if (ch->on_turn != NULL)
			r = ch->on_turn(ch, err);
	}
	return r;
}

/* Forget a wake-up: what was asked for stands elsewhere. */
static void drain(int eventfd)
{
	uint64_t ignored;

	if (read(eventfd, &ignored, sizeof(ignored)) < 0)
		return;
}

static bool may_relay(const struct sbx_link *link)
{
	return link->relay != NULL && sbx_link_queued(link) < RELAY_QUEUE_MAX;
}

static int wait_and_act(struct sbx_link *link, struct sbx_wait *wait, struct sbx_error *err)
{
	struct pollfd fds[] = {
		sbx_conn_poll(&link->conn),
		{.fd = link->wake_fd, .events = POLLIN},
		{.fd = wait->cancel ? wait->cancel->eventfd : -1, .events = POLLIN},
		{.fd = wait->wants_input ? wait->input_fd : -1, .events = POLLIN},
		{.fd = may_relay(link) ? sbx_relay_fd(link->relay) : -1, .events = POLLIN},
	};
	bool written = wait->for_room && !sbx_conn_has_output(&link->conn);
	int timeout_ms = written ? 0 : sbx_poll_ms(wait->deadline_ns), r = 0;

	wait->input_ready = false;
	if (poll(fds, sizeof(fds) / sizeof(fds[0]), timeout_ms) < 0)
		return errno == EINTR ? 0
				      : sbx_fail_errno(err, errno, "cannot wait for the sandbox");
	for (int i = 1; i <= 2; i++) {
		if (fds[i].revents)
			drain(fds[i].fd);
	}
	wait->input_ready = fds[3].revents != 0;
	if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
		r = take_frames(link, err);
	if (r == 0 && fds[4].revents)
		r = sbx_relay_pump(link->relay, err);
	return r;
}

int sbx_link_turn(struct sbx_link *link, struct sbx_wait *wait, struct sbx_error *err)
{
	int r;

	if (link->lost)
		return 0;
	r = ask_channels(link, err);
	if (r == 0)
		r = sbx_conn_flush(&link->conn, err);
	if (r == 0)
		r = link->session->greeted ? wait_and_act(link, wait, err)
					   : await_greeting(link, wait->cancel, err);
	if (r < 0)
		link->failed = true;
	return r;
}

/* The agent has not spoken for so long that something must be done about it. */
static int act_on_silence(struct sbx_link *link, struct sbx_error *err)
{
	int r = sbx_session_check(link->session, err);

	if (r == 0 && !link->pinged) {
		link->pinged = true;
		return sbx_link_queue(link, WIRE_PING, 0, NULL, 0, err);
	}
	link->failed = true;
	sbx_place_kill(link->session->place);
	return r < 0 ? r
		     : sbx_fail(err, SBX_E_TIMEOUT,
				"the sandbox has not answered for %d seconds and was killed; open a new "
				"session",
				SILENCE_MS / 1000);
}

static int await(struct sbx_link *link, struct sbx_cancel *cancel, bool for_room,
		 struct sbx_error *err)
{
	uint64_t ends_ns = link->session->ends_ns;
	uint64_t before_ns = link->heard_ns;
	struct sbx_wait wait = {
		.cancel = cancel,
		.deadline_ns =
			before_ns + (link->pinged ? SILENCE_MS : PING_MS) * SBX_NS_PER_MS,
		.for_room = for_room,
	};
	int r;

	if (ends_ns != 0 && ends_ns < wait.deadline_ns)
		wait.deadline_ns = ends_ns;
	r = sbx_link_turn(link, &wait, err);
	if (r < 0 || link->lost || sbx_now_ns() < wait.deadline_ns)
		return r;
	/* It spoke just now: unless its time is over, all is well. */
	if (link->heard_ns > before_ns && wait.deadline_ns != ends_ns)
		return 0;
	return act_on_silence(link, err);
}

int sbx_link_await(struct sbx_link *link, struct sbx_cancel *cancel, struct sbx_error *err)
{
	return await(link, cancel, false, err);
}

int sbx_link_await_room(struct sbx_link *link, struct sbx_cancel *cancel, struct sbx_error *err)
{
	return await(link, cancel, true, err);
}
