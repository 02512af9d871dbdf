/* SPDX-License-Identifier: MIT */
/* One question to the agent, and what it answers. */
#include "core/transfer.h"

#include "base/auto.h"
#include "base/clock.h"
#include "core/session.h"

#include <errno.h>

struct fetch {
	struct sbx_channel ch;
	struct sbx_link *link;
	const struct sbx_question *q;
	uint64_t entries_left; /* that may come */
	uint64_t bytes_left;   /* of the present file */
	bool in_file;
	size_t consumed; /* bytes that no credit was granted for again */
	bool answered;	 /* nothing more comes */
	bool stopped;	 /* by us: what still comes is passed over */
	struct sbx_error error; /* SBX_OK: none */
};

static void stop(struct fetch *f, const struct sbx_error *why)
{
	f->stopped = true;
	f->error = *why;
}

/* An error of the sink ends this fetch and not the session. */
static void sink_result(struct fetch *f, int r, const struct sbx_error *why)
{
	if (r < 0)
		stop(f, why);
}

/* ---- sinks of questions that names answer ---- */

int sbx_sink_no_data(void *owner, const void *data, size_t len, struct sbx_error *err)
{
	(void)owner, (void)data, (void)len;
	return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent bytes that it was not asked for");
}

int sbx_sink_no_hole(void *owner, uint64_t bytes, struct sbx_error *err)
{
	(void)bytes;
	return sbx_sink_no_data(owner, NULL, 0, err);
}

/* ---- what comes in ---- */

static int broken(const struct wire_frame *frame, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent %s that it was not asked for",
			wire_type_name(frame->type));
}

static int on_entry(struct fetch *f, const struct wire_frame *frame, struct sbx_error *err)
{
	const struct sbx_sink *sink = f->q->sink;
	struct sbx_error why;
	struct wire_entry e;

	if (!wire_entry_parse(frame->payload, frame->len, &e))
		return sbx_fail(err, SBX_E_PROTOCOL, "the sandbox sent a malformed ENTRY");
	if (f->entries_left == 0 || (e.kind == WIRE_FILE && e.size > INT64_MAX)) {
		wire_entry_done(&e);
		return broken(frame, err);
	}
	f->entries_left--;
	f->in_file = e.kind == WIRE_FILE && f->q->type == WIRE_GET;
	f->bytes_left = e.size < f->q->bytes_max ? e.size : f->q->bytes_max;
	sink_result(f, sink->entry(sink->owner, &e, &why), &why);
	wire_entry_done(&e);
	return 0;
}

static int grant(struct fetch *f, size_t bytes, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(64);
	struct wire_credit m = {.flow = WIRE_FLOW_DATA};

	f->consumed += bytes;
	if (f->consumed < WIRE_WINDOW / 2)
		return 0;
	m.bytes = (uint32_t)f->consumed;
	f->consumed = 0;
	wire_credit_format(&payload, &m);
	return sbx_link_queue(f->link, WIRE_CREDIT, f->ch.id, payload.data, payload.len, err);
}

static int on_data(struct fetch *f, const struct wire_frame *frame, struct sbx_error *err)
{
	const struct sbx_sink *sink = f->q->sink;
	struct sbx_error why;

	/* An empty piece gets nobody on; there could be more of them without end. */
	if (!f->in_file || frame->len == 0 || frame->len > f->bytes_left)
		return broken(frame, err);
	f->bytes_left -= frame->len;
	sink_result(f, sink->data(sink->owner, frame->payload, frame->len, &why), &why);
	return f->stopped ? 0 : grant(f, frame->len, err);
}

static int on_hole(struct fetch *f, const struct wire_frame *frame, struct sbx_error *err)
{
	const struct sbx_sink *sink = f->q->sink;
	struct sbx_error why;
	struct wire_hole m;

	if (!wire_hole_parse(frame->payload, frame->len, &m) || !f->in_file ||
	    m.bytes > f->bytes_left)
		return broken(frame, err);
	f->bytes_left -= m.bytes;
	sink_result(f, sink->hole(sink->owner, m.bytes, &why), &why);
	return 0;
}

static int on_frame(struct sbx_channel *ch, const struct wire_frame *frame, struct sbx_error *err)
{
	struct fetch *f = ch->owner;

	if (f->stopped || f->answered)
		return 0;
	if (frame->type == WIRE_ENTRY)
		return on_entry(f, frame, err);
	if (frame->type == WIRE_DATA)
		return on_data(f, frame, err);
	if (frame->type == WIRE_HOLE)
		return on_hole(f, frame, err);
	if (frame->type != WIRE_CLOSE && frame->type != WIRE_ERROR)
		return broken(frame, err);
	f->answered = true;
	if (frame->type == WIRE_ERROR)
		sbx_link_refusal(frame, &f->error);
	return 0;
}

/* ---- the loop ---- */

/* Whether the caller, or the session's time, ends it. */
static void look_up(struct fetch *f)
{
	struct sbx_error why;

	if (sbx_copy_cancelled(f->q->cancel, &why) < 0 ||
	    sbx_session_check(f->link->session, &why) < 0) {
		stop(f, &why);
	} else if (f->q->deadline_ns != 0 && sbx_now_ns() >= f->q->deadline_ns) {
		sbx_fail(&why, SBX_E_TIMEOUT, "the sandbox took too long to look at its files");
		stop(f, &why);
	}
}

/* Who has a deadline does not wait for the agent beyond it. */
static int await(struct fetch *f, struct sbx_error *err)
{
	struct sbx_wait wait = {.cancel = f->q->cancel, .deadline_ns = f->q->deadline_ns};
	uint64_t ends_ns = f->link->session->ends_ns;

	if (wait.deadline_ns == 0)
		return sbx_link_await(f->link, f->q->cancel, err);
	if (ends_ns != 0 && ends_ns < wait.deadline_ns)
		wait.deadline_ns = ends_ns;
	return sbx_link_turn(f->link, &wait, err);
}

static int drive(struct fetch *f, struct sbx_error *err)
{
	int r = sbx_link_queue(f->link, f->q->type, f->ch.id, f->q->payload->data,
			       f->q->payload->len, err);

	while (r == 0 && !f->answered && !f->stopped) {
		r = await(f, err);
		if (r == 0 && f->link->lost && !f->answered)
			return sbx_session_fail_lost(f->link->session, err);
		if (r == 0 && !f->answered && !f->stopped)
			look_up(f);
	}
	if (r == 0 && f->stopped && !f->answered)
		r = sbx_link_queue(f->link, WIRE_CLOSE, f->ch.id, NULL, 0, err);
	if (r == 0 && f->error.code != SBX_OK) {
		*err = f->error;
		return -(int)err->code;
	}
	return r;
}

int sbx_fetch_held(struct sbx_session *session, const struct sbx_question *q,
		   struct sbx_error *err)
{
	struct fetch f = {
		.ch = {.on_frame = on_frame},
		.link = &session->link,
		.q = q,
		.entries_left = q->entries_max,
	};
	int r;

	if (q->payload->failed)
		return sbx_fail_errno(err, ENOMEM, "cannot ask the sandbox");
	f.ch.owner = &f;
	sbx_link_add(f.link, &f.ch);
	r = drive(&f, err);
	sbx_link_remove(f.link, &f.ch);
	return r;
}

int sbx_fetch(struct sbx_session *session, const struct sbx_question *q, struct sbx_error *err)
{
	int r = sbx_session_begin_for(session, q->cancel, err);

	if (r < 0)
		return r;
	r = sbx_fetch_held(session, q, err);
	sbx_session_end(session, r, err);
	return r;
}

int sbx_fetch_tree(struct sbx_session *session, char *inside, const struct sbx_sink *sink,
		   struct sbx_cancel *cancel, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(WIRE_PAYLOAD_MAX);
	struct sbx_question q = {
		.type = WIRE_GET,
		.payload = &payload,
		.entries_max = UINT64_MAX,
		.bytes_max = UINT64_MAX,
		.sink = sink,
		.cancel = cancel,
	};

	wire_get_format(&payload, &(struct wire_get){.deep = true,
						     .length = UINT64_MAX,
						     .most = UINT64_MAX,
						     .path = inside});
	return sbx_fetch(session, &q, err);
}
