/* SPDX-License-Identifier: MIT */
#include "core/background.h"

#include "base/clock.h"

#include <signal.h>

void sbx_background_init(struct sbx_background *b, struct sbx_session *session,
			 const struct sbx_io *io)
{
	const uint64_t *limits = session->spec->limits;

	*b = (struct sbx_background){
		.session = session,
		.program = {.link = &session->link, .io = io},
	};
	for (int i = 0; i < 2; i++) {
		sbx_capture_init(&b->capture[i], limits[SBX_LIMIT_HEAD_BYTES],
				 limits[SBX_LIMIT_TAIL_BYTES]);
		b->program.capture[i] = &b->capture[i];
	}
}

void sbx_background_done(struct sbx_background *b)
{
	sbx_program_done(&b->program);
	for (int i = 0; i < 2; i++)
		sbx_capture_done(&b->capture[i]);
}

uint64_t sbx_background_oom_kills(const struct sbx_session *session)
{
	struct sbx_place_usage usage = {0};

	sbx_session_usage(session, &usage);
	return usage.oom_kills;
}

/* ---- on the thread that drives ---- */

static bool was_killed(const struct sbx_program *p)
{
	return p->is_over && p->exit.reason == WIRE_SIGNALLED && p->exit.status == SIGKILL;
}

int sbx_background_take(struct sbx_background *b, const struct wire_frame *frame,
			struct sbx_error *err)
{
	int r = b->take(&b->program.channel, frame, err);

	b->started |= frame->type == WIRE_STARTED || b->program.is_over;
	if (was_killed(&b->program))
		b->out_of_memory = sbx_background_oom_kills(b->session) > b->oom_kills;
	return r;
}

static int on_frame(struct sbx_channel *ch, const struct wire_frame *frame, struct sbx_error *err)
{
	struct sbx_background *b = ch->owner;
	struct sbx_turn *turn = &b->session->turn;
	int r;

	pthread_mutex_lock(&turn->lock);
	r = sbx_background_take(b, frame, err);
	if (b->program.is_over)
		pthread_cond_broadcast(&turn->changed);
	pthread_mutex_unlock(&turn->lock);
	return r;
}

static int send_signals(struct sbx_background *b, struct sbx_error *err)
{
	uint64_t signals = atomic_exchange(&b->signals, 0);
	int r = 0;

	for (int signo = 1; r == 0 && signo < 64; signo++) {
		if (!(signals & 1ull << signo) || b->program.is_over)
			continue;
		r = sbx_program_signal(&b->program, (uint32_t)signo,
				       signo == SIGKILL ? WIRE_SCOPE_TREE : WIRE_SCOPE_GROUP, err);
	}
	return r;
}

int sbx_background_turn(struct sbx_background *b, struct sbx_error *err)
{
	struct sbx_wait no_descriptor = {0};
	int r = send_signals(b, err);

	return r < 0 ? r : sbx_program_feed(&b->program, &no_descriptor, err);
}

static int on_turn(struct sbx_channel *ch, struct sbx_error *err)
{
	return sbx_background_turn(ch->owner, err);
}

/* ---- start and signals ---- */

static int await_start(struct sbx_background *b, struct sbx_cancel *cancel, struct sbx_error *err)
{
	struct sbx_link *link = &b->session->link;
	int r = 0;

	while (r == 0 && !b->started && !link->lost)
		r = sbx_link_await(link, cancel, err);
	if (r == 0 && link->lost)
		return sbx_session_fail_lost(b->session, err);
	if (r == 0 && b->program.refusal.code != SBX_OK) {
		*err = b->program.refusal;
		r = -(int)err->code;
	}
	return r;
}

int sbx_background_start(struct sbx_background *b, const struct wire_exec *exec,
			 struct sbx_cancel *cancel, struct sbx_error *err)
{
	int r = sbx_session_keep(b->session, err);

	if (r == 0)
		r = sbx_program_start(&b->program, exec, err);
	if (r < 0)
		return r;
	b->oom_kills = sbx_background_oom_kills(b->session);
	b->take = b->program.channel.on_frame;
	b->program.channel.on_frame = on_frame;
	b->program.channel.on_turn = on_turn;
	b->program.channel.owner = b;
	return await_start(b, cancel, err);
}

void sbx_background_signal(struct sbx_background *b, int signo)
{
	atomic_fetch_or(&b->signals, 1ull << signo);
	sbx_link_wake(&b->session->link);
}
