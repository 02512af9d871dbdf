/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is: one operation at a time drives a session's link, and others wait. Where
 * something goes on between operations (background processes, connections of the proxy) a thread
 * of the session's own, the keeper, drives it then, and steps aside for whoever comes.
 */
#include "core/session.h"

#include "base/clock.h"
#include "base/thread.h"
#include "core/cancel.h"

#include <errno.h>
#include <stdio.h>

#define LOOK_MS 100 /* how often a waiting operation looks whether it was cancelled */

int sbx_turn_init(struct sbx_turn *turn, struct sbx_error *err)
{
	pthread_condattr_t attr;

	if (pthread_mutex_init(&turn->lock, NULL) != 0)
		return sbx_fail_errno(err, ENOMEM, "cannot open a session");
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&turn->changed, &attr);
	pthread_condattr_destroy(&attr);
	return 0;
}

void sbx_turn_done(struct sbx_turn *turn)
{
	pthread_cond_destroy(&turn->changed);
	pthread_mutex_destroy(&turn->lock);
}

/* False when it was cancelled before its turn came. */
static bool take(struct sbx_session *s, struct sbx_cancel *cancel)
{
	struct sbx_turn *turn = &s->turn;
	bool cancelled = false;

	pthread_mutex_lock(&turn->lock);
	turn->waiting++;
	if (turn->taken && turn->keeper_runs)
		sbx_link_wake(&s->link);
	while (turn->taken && !cancelled) {
		struct timespec until = sbx_timespec(sbx_deadline_ns(LOOK_MS));

		if (cancel == NULL)
			pthread_cond_wait(&turn->changed, &turn->lock);
		else
			pthread_cond_timedwait(&turn->changed, &turn->lock, &until);
		cancelled = sbx_cancel_is_killed(cancel);
	}
	turn->waiting--;
	if (!cancelled)
		turn->taken = true;
	else
		pthread_cond_broadcast(&turn->changed);
	pthread_mutex_unlock(&turn->lock);
	return !cancelled;
}

static void give_back(struct sbx_turn *turn)
{
	pthread_mutex_lock(&turn->lock);
	turn->taken = false;
	pthread_cond_broadcast(&turn->changed);
	pthread_mutex_unlock(&turn->lock);
}

/* ---- its loss ---- */

const char *sbx_session_loss(struct sbx_session *s)
{
	struct sbx_error why;

	if (!s->loss_known && sbx_place_failure(s->place, &why) < 0)
		snprintf(s->loss, sizeof(s->loss), "%.*s", (int)sizeof(s->loss) - 1, why.msg);
	s->loss_known = true;
	return s->loss;
}

static int fail_gone(const struct sbx_session *s, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_UNAVAILABLE,
			"the sandbox of this session is gone%s%s; open a new session",
			s->loss[0] ? ": " : "", s->loss);
}

int sbx_session_fail_lost(struct sbx_session *s, struct sbx_error *err)
{
	sbx_session_loss(s);
	return fail_gone(s, err);
}

/* ---- operations ---- */

int sbx_session_check(const struct sbx_session *s, struct sbx_error *err)
{
	if (s->ends_ns != 0 && sbx_now_ns() >= s->ends_ns)
		return sbx_fail(err, SBX_E_TIMEOUT,
				"the session's time of %.3g seconds is over (session-timeout); open a new "
				"session",
				(double)s->spec->limits[SBX_LIMIT_SESSION_MS] / 1000);
	if (s->broken)
		return fail_gone(s, err);
	return 0;
}

int sbx_session_begin_for(struct sbx_session *s, struct sbx_cancel *cancel, struct sbx_error *err)
{
	int r;

	if (!take(s, cancel))
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"cancelled while another operation of the session ran");
	s->link.heard_ns = sbx_now_ns();
	s->link.pinged = false;
	r = sbx_session_check(s, err);
	if (r < 0)
		give_back(&s->turn);
	return r;
}

int sbx_session_begin(struct sbx_session *s, struct sbx_error *err)
{
	return sbx_session_begin_for(s, NULL, err);
}

void sbx_session_end(struct sbx_session *s, int r, const struct sbx_error *err)
{
	if (s->link.lost && s->greeted && !s->broken)
		sbx_session_loss(s);
	if (s->link.lost || s->link.failed || (r < 0 && err->code == SBX_E_PROTOCOL))
		s->broken = true;
	give_back(&s->turn);
}

/* ---- the keeper ---- */

/* Drive until somebody else wants to, or nothing is left to drive. */
static void keep(struct sbx_session *s)
{
	struct sbx_turn *turn = &s->turn;
	struct sbx_wait wait = {0};
	struct sbx_error err;
	bool go_on = true;

	while (go_on) {
		if (sbx_link_turn(&s->link, &wait, &err) < 0 || s->link.lost)
			s->broken = true;
		pthread_mutex_lock(&turn->lock);
		go_on = turn->waiting == 0 && !turn->closing && !s->broken;
		pthread_mutex_unlock(&turn->lock);
	}
}

static void *run_keeper(void *arg)
{
	struct sbx_session *s = arg;
	struct sbx_turn *turn = &s->turn;

	pthread_mutex_lock(&turn->lock);
	while (!turn->closing && !s->broken) {
		if (turn->taken || turn->waiting > 0) {
			pthread_cond_wait(&turn->changed, &turn->lock);
			continue;
		}
		turn->taken = true;
		pthread_mutex_unlock(&turn->lock);
		keep(s);
		pthread_mutex_lock(&turn->lock);
		turn->taken = false;
		pthread_cond_broadcast(&turn->changed);
	}
	pthread_mutex_unlock(&turn->lock);
	return NULL;
}

int sbx_session_keep(struct sbx_session *s, struct sbx_error *err)
{
	int r;

	if (s->turn.keeper_runs)
		return 0;
	r = sbx_thread_start(&s->turn.keeper, run_keeper, s);
	if (r != 0)
		return sbx_fail_errno(err, r, "cannot start the thread that keeps a session going");
	pthread_mutex_lock(&s->turn.lock);
	s->turn.keeper_runs = true;
	pthread_mutex_unlock(&s->turn.lock);
	return 0;
}

void sbx_session_stop_keeping(struct sbx_session *s)
{
	if (!s->turn.keeper_runs)
		return;
	pthread_mutex_lock(&s->turn.lock);
	s->turn.closing = true;
	pthread_cond_broadcast(&s->turn.changed);
	pthread_mutex_unlock(&s->turn.lock);
	sbx_link_wake(&s->link);
	pthread_join(s->turn.keeper, NULL);
	s->turn.keeper_runs = false;
}
