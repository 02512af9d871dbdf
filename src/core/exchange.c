/* SPDX-License-Identifier: MIT */
#include "core/exchange.h"

#include "base/auto.h"
#include "base/clock.h"
#include "core/cancel.h"
#include "core/session.h"

#include <errno.h>
#include <signal.h>

#define TICK_MS 100 /* how often the memory limit is looked at */

void sbx_exchange_init(struct sbx_exchange *x, struct sbx_session *session,
		       const struct sbx_io *io)
{
	const struct sbx_spec *spec = session->spec;

	*x = (struct sbx_exchange){
		.session = session,
		.link = &session->link,
		.place = session->place,
		.io = io,
		.program = {.link = &session->link, .io = io},
	};
	for (int i = 0; i < 2; i++) {
		sbx_capture_init(&x->capture[i], spec->limits[SBX_LIMIT_HEAD_BYTES],
				 spec->limits[SBX_LIMIT_TAIL_BYTES]);
		x->program.capture[i] = &x->capture[i];
	}
	if (x->io->cancel != NULL)
		x->interrupts = atomic_load(&x->io->cancel->interrupts);
	/* Nothing has run yet in a sandbox that is still being made. */
	if (session->greeted)
		sbx_session_usage(x->session, &x->usage);
	x->oom_kills = x->usage.oom_kills;
}

void sbx_exchange_done(struct sbx_exchange *x)
{
	sbx_link_remove(x->link, &x->put.channel);
	for (int i = 0; i < 2; i++)
		sbx_capture_done(&x->capture[i]);
}

/* One turn of the link, until deadline_ns at the latest (0: none). */
static int turn(struct sbx_exchange *x, struct sbx_wait *wait, struct sbx_error *err)
{
	int r = sbx_link_turn(x->link, wait, err);

	x->lost = x->link->lost;
	return r;
}

static int await(struct sbx_exchange *x, struct sbx_error *err)
{
	int r = sbx_link_await(x->link, x->io->cancel, err);

	x->lost = x->link->lost;
	return r;
}

/* ---- files ---- */

/* Queue as much of the file as there is credit for, and its end. */
static int feed_put(struct sbx_channel *ch, struct sbx_error *err)
{
	struct sbx_exchange *x = ch->owner;
	struct sbx_transfer *put = &x->put;
	int r = 0;

	while (r == 0 && put->at < put->len && put->credit > 0) {
		size_t n = put->len - put->at;

		n = n < put->credit ? n : put->credit;
		n = n < WIRE_PAYLOAD_MAX ? n : WIRE_PAYLOAD_MAX;
		r = sbx_link_queue(x->link, WIRE_DATA, ch->id, put->data + put->at, n, err);
		put->at += n;
		put->credit -= n;
		if (r == 0 && put->at == put->len)
			r = sbx_link_queue(x->link, WIRE_CLOSE, ch->id, NULL, 0, err);
	}
	return r;
}

static int take_put_credit(struct sbx_transfer *put, const struct wire_frame *frame,
			   struct sbx_error *err)
{
	struct wire_credit credit;

	if (!wire_credit_parse(frame->payload, frame->len, &credit) ||
	    credit.flow != WIRE_FLOW_DATA || credit.bytes > WIRE_WINDOW - put->credit)
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox granted credit it did not owe");
	put->credit += credit.bytes;
	return 0;
}

static int on_put_frame(struct sbx_channel *ch, const struct wire_frame *frame,
			struct sbx_error *err)
{
	struct sbx_exchange *x = ch->owner;

	if (frame->type == WIRE_CREDIT)
		return take_put_credit(&x->put, frame, err);
	if (frame->type != WIRE_CLOSE && frame->type != WIRE_ERROR)
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent %s while it took a file",
				wire_type_name(frame->type));
	/* Told when the program that may run meanwhile has ended, so that the stream stays in step. */
	if (frame->type == WIRE_ERROR)
		sbx_link_refusal(frame, &x->put_error);
	x->put.under_way = false;
	sbx_link_remove(x->link, ch);
	return 0;
}

/* The agent's refusal of a file, told once. */
static int put_failure(struct sbx_exchange *x, struct sbx_error *err)
{
	if (x->put_error.code == SBX_OK)
		return 0;
	*err = x->put_error;
	x->put_error.code = SBX_OK;
	x->put_failed = true;
	return -(int)err->code;
}

/* All of the file under way is sent, though perhaps not yet acknowledged. */
static int finish_sending(struct sbx_exchange *x, struct sbx_error *err)
{
	int r = 0;

	while (r == 0 && !x->lost && x->put.under_way && x->put.at < x->put.len)
		r = await(x, err);
	return r;
}

/* One file at a time: the one before must be acknowledged. */
static int await_acknowledgement(struct sbx_exchange *x, struct sbx_error *err)
{
	int r = 0;

	while (r == 0 && !x->lost && x->put.under_way)
		r = await(x, err);
	return r;
}

int sbx_exchange_settle(struct sbx_exchange *x, struct sbx_error *err)
{
	int r = await_acknowledgement(x, err);

	return r < 0 ? r : put_failure(x, err);
}

static int start_put(struct sbx_exchange *x, const struct wire_put *m, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	struct sbx_channel *ch = &x->put.channel;
	int r;

	wire_put_format(&payload, m);
	if (payload.failed)
		return sbx_fail(err, SBX_E_INVALID, "the file name '%.64s…' is too long", m->path);
	*ch = (struct sbx_channel){.on_frame = on_put_frame, .on_turn = feed_put, .owner = x};
	sbx_link_add(x->link, ch);
	x->put.under_way = true;
	r = sbx_link_queue(x->link, WIRE_PUT, ch->id, payload.data, payload.len, err);
	if (r == 0 && x->put.len == 0)
		r = sbx_link_queue(x->link, WIRE_CLOSE, ch->id, NULL, 0, err);
	return r < 0 ? r : feed_put(ch, err);
}

int sbx_exchange_put(struct sbx_exchange *x, const char *path, const void *data, size_t len,
		     struct sbx_error *err)
{
	struct wire_put m = {.mode = 0644, .size = len, .path = (char *)path};
	int r = await_acknowledgement(x, err);

	if (r < 0 || x->lost)
		return r;
	sbx_artifacts_note_put(x->session, path, len);
	x->put = (struct sbx_transfer){.data = data, .len = len, .credit = WIRE_WINDOW};
	r = start_put(x, &m, err);
	if (r == 0)
		r = finish_sending(x, err);
	return r < 0 ? r : put_failure(x, err);
}

/* ---- what the host watches while a program runs ---- */

static int kill_program(struct sbx_exchange *x, struct sbx_error *err)
{
	x->kill_by_ns = sbx_deadline_ns(SBX_GRACE_MS);
	return sbx_program_signal(&x->program, SIGKILL, WIRE_SCOPE_TREE, err);
}

static int act_on_cancel(struct sbx_exchange *x, struct sbx_error *err)
{
	struct sbx_cancel *cancel = x->io->cancel;
	int r = 0;

	if (cancel == NULL)
		return 0;
	if (!x->cancelled && atomic_load(&cancel->killed)) {
		x->cancelled = true;
		return kill_program(x, err);
	}
	while (r == 0 && x->interrupts != atomic_load(&cancel->interrupts)) {
		x->interrupts++;
		r = sbx_program_signal(&x->program, SIGINT, WIRE_SCOPE_GROUP, err);
	}
	return r;
}

/* One process over the memory limit ends the whole program, not just itself. */
static int act_on_memory(struct sbx_exchange *x, struct sbx_error *err)
{
	sbx_session_usage(x->session, &x->usage);
	if (x->out_of_memory || x->usage.oom_kills <= x->oom_kills)
		return 0;
	x->out_of_memory = true;
	if (x->program.is_over || x->lost)
		return 0;
	return kill_program(x, err);
}

static void act_on_deadline(struct sbx_exchange *x, uint64_t deadline_ns)
{
	uint64_t now = sbx_now_ns();
	bool late = deadline_ns != 0 && now >= deadline_ns;
	bool undead = x->kill_by_ns != 0 && now >= x->kill_by_ns;

	if (x->overdue || (!late && !undead))
		return;
	x->overdue = late;
	x->kill_by_ns = 0;
	sbx_place_kill(x->place);
}

/* Until it is over or the sandbox is lost. */
static int run_program(struct sbx_exchange *x, uint64_t deadline_ns, struct sbx_error *err)
{
	struct sbx_wait wait = {.cancel = x->io->cancel, .deadline_ns = sbx_deadline_ns(TICK_MS)};
	int r = 0;

	while (r == 0 && !x->program.is_over && !x->lost) {
		r = sbx_program_feed(&x->program, &wait, err);
		if (r == 0)
			r = turn(x, &wait, err);
		if (r == 0 && !x->program.is_over)
			r = act_on_cancel(x, err);
		if (r == 0 && sbx_now_ns() >= wait.deadline_ns) {
			r = act_on_memory(x, err);
			wait.deadline_ns = sbx_deadline_ns(TICK_MS);
		}
		act_on_deadline(x, deadline_ns);
	}
	return r;
}

/* When we stop waiting for the agent to end it: by its own time, or by the session's. */
static uint64_t find_deadline_ns(const struct sbx_exchange *x, const struct wire_exec *exec)
{
	uint64_t own_ns = exec->wall_ms ? sbx_deadline_ns(exec->wall_ms + SBX_GRACE_MS) : 0;
	uint64_t ends_ns = x->session->ends_ns;

	if (ends_ns != 0)
		ends_ns += SBX_GRACE_MS * SBX_NS_PER_MS;
	if (own_ns == 0 || (ends_ns != 0 && ends_ns < own_ns))
		return ends_ns;
	return own_ns;
}

static int run_exec(struct sbx_exchange *x, const struct wire_exec *exec, struct wire_exit *ret,
		    struct sbx_error *err)
{
	uint64_t deadline_ns = find_deadline_ns(x, exec);
	int r = sbx_program_start(&x->program, exec, err);

	/* What was asked for before holds for this program too: each is killed. */
	x->cancelled = false;
	x->kill_by_ns = 0;
	if (r == 0)
		r = run_program(x, deadline_ns, err);
	if (r == 0)
		r = act_on_memory(x, err);
	sbx_program_done(&x->program);
	if (r == 0 && x->program.refusal.code != SBX_OK) {
		*err = x->program.refusal;
		r = -(int)err->code;
	}
	if (r == 0 && !x->lost)
		*ret = x->program.exit;
	return r < 0 ? r : put_failure(x, err);
}

/*
 * A stream may be slow: a program that was started would have run for a while before it is killed. The
 * session itself lives on, so its beginning is waited for.
 */
static int pass_over(struct sbx_exchange *x, struct wire_exit *ret, struct sbx_error *err)
{
	int r = 0;

	/* By turns: what has come with the greeting is heard too. */
	while (r == 0 && !x->session->greeted && !x->link->lost)
		r = sbx_link_await(x->link, NULL, err);
	x->lost = x->link->lost;
	if (r < 0)
		return r;
	x->cancelled = true;
	*ret = (struct wire_exit){.reason = WIRE_KILLED, .status = SIGKILL};
	return sbx_exchange_settle(x, err);
}

int sbx_exchange_exec(struct sbx_exchange *x, const struct wire_exec *exec, struct wire_exit *ret,
		      struct sbx_error *err)
{
	if (sbx_cancel_is_killed(x->io->cancel))
		return pass_over(x, ret, err);
	return run_exec(x, exec, ret, err);
}
