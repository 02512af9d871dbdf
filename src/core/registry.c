/* SPDX-License-Identifier: MIT */
/*
 * An entry is alive (in `live`), or has ended and waits for those that hold it (in `ending`), and
 * is gone. Whoever lets an ended one go last closes it, else the registry's own thread. The lock
 * is never held while a session is opened, used or closed; killing a place does not block.
 */
#include <llmsandbox/registry.h>

#include "backend/spec.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "core/cancel.h"
#include "core/registry_ended.h"
#include "core/session.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/random.h>

#define MOST_STANDARD	     100
#define IDLE_MS_STANDARD     (10ull * 60 * 1000)
#define LIFETIME_MS_STANDARD (60ull * 60 * 1000)

#define ID_BYTES     16 /* of randomness */
#define ID_MAX	     sizeof(((struct sbx_session_info *)NULL)->id)
#define WAITERS_MAX  16 /* for one session, to have it alone */
#define LATE_KILL_NS (500 * SBX_NS_PER_MS)

#define NEVER UINT64_MAX

/* Somebody who waits to have a session alone. */
struct waiter {
	int wake_fd;
	struct sbx_cancel *cancel; /* or NULL */
	bool granted;
	TAILQ_ENTRY(waiter) link;
};

struct entry {
	struct sbx_session_info info; /* what is fixed, and operations */
	char owner[SBX_OWNER_MAX];    /* or "" */
	struct sbx_spec *spec;
	struct sbx_session *session;
	uint64_t idle_ms, lifetime_ms; /* or SBX_TIMEOUT_NONE */
	uint64_t used_ns;	       /* when it was opened or released last */
	uint64_t life_ends_ns;	       /* or NEVER */
	unsigned int holders;
	bool alone;		   /* one of them has it alone … */
	struct sbx_cancel *cancel; /* … and this to be stopped by, or NULL */
	TAILQ_HEAD(, waiter) waiters;
	unsigned int waiter_count;
	struct sbx_ended ended; /* how it ended, and when; SBX_ALIVE before */
	uint64_t kill_ns; /* when those that hold it still are killed; NEVER: they have been */
	bool closing;	  /* somebody closes it right now */
	TAILQ_ENTRY(entry) link;
};

TAILQ_HEAD(entries, entry);

struct sbx_registry {
	struct sbx_registry_limits limits;
	pthread_mutex_t lock;	/* of all below */
	pthread_cond_t changed; /* for the thread: something may be due earlier */
	pthread_cond_t gone;	/* an entry is, or an opening */
	pthread_t thread;
	struct entries live, ending; /* oldest first */
	size_t count;		     /* of both, and of those that are being opened */
	size_t opening;
	size_t closers; /* calls that wait for an end */
	bool over;
	struct sbx_ended_list ended;
};

/* ---- looking up; all with the lock ---- */

static struct entry *find_named(struct entries *list, const char *owner, const char *name)
{
	struct entry *e;

	TAILQ_FOREACH_REVERSE(e, list, entries, link)
	{
		if (sbx_owner_sees(owner, e->owner) &&
		    sbx_is_named(e->info.id, e->info.label, owner, name))
			return e;
	}
	return NULL;
}

static const struct entry *find_session(const struct entries *list,
					const struct sbx_session *session)
{
	const struct entry *e;

	TAILQ_FOREACH(e, list, link)
	{
		if (e->session == session)
			return e;
	}
	return NULL;
}

/* Never NULL for one that is held. */
static struct entry *get_held(struct sbx_registry *r, const struct sbx_session *session)
{
	const struct entry *e = find_session(&r->live, session);

	return (struct entry *)(e ? e : find_session(&r->ending, session));
}

static int fail_unknown(const struct sbx_registry *r, const char *owner, const char *name,
			struct sbx_error *err)
{
	const struct sbx_ended *e = sbx_ended_find(&r->ended, owner, name);

	if (e != NULL)
		return sbx_ended_fail(e, SBX_E_NOT_FOUND, err);
	return sbx_fail(
		err, SBX_E_NOT_FOUND,
		"there is no session '%.64s': it was never opened, or ended long ago; create a new "
		"one",
		name);
}

/* ---- ending ---- */

static uint64_t after_ns(uint64_t begin_ns, uint64_t ms)
{
	if (ms >= (NEVER - begin_ns) / SBX_NS_PER_MS)
		return NEVER;
	return begin_ns + ms * SBX_NS_PER_MS;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_held(const struct entry *e)
{
	return e->holders > 0 || e->waiter_count > 0;
}

/* When it ends as things are now. */
static uint64_t ends_ns(const struct entry *e)
{
	uint64_t idle_ends_ns = after_ns(e->used_ns, e->idle_ms);

	return is_held(e) ? e->life_ends_ns : earlier(idle_ends_ns, e->life_ends_ns);
}

static void note_end(struct entry *e, enum sbx_end end)
{
	struct sbx_ended *ended = &e->ended;

	ended->end = end;
	ended->when = time(NULL);
	ended->after_ms = end == SBX_END_IDLE ? e->idle_ms : e->lifetime_ms;
	memcpy(ended->id, e->info.id, sizeof(ended->id));
	memcpy(ended->label, e->info.label, sizeof(ended->label));
	memcpy(ended->owner, e->owner, sizeof(ended->owner));
}

/* It cannot be found from now on; those that hold it are killed at kill_ns. */
static void end_entry(struct sbx_registry *r, struct entry *e, enum sbx_end end, uint64_t kill_ns)
{
	struct waiter *w;

	note_end(e, end);
	sbx_ended_add(&r->ended, &e->ended);
	e->kill_ns = kill_ns;
	TAILQ_REMOVE(&r->live, e, link);
	TAILQ_INSERT_TAIL(&r->ending, e, link);
	TAILQ_FOREACH(w, &e->waiters, link)
	eventfd_write(w->wake_fd, 1);
	pthread_cond_signal(&r->changed);
}

static void kill_holders(struct entry *e)
{
	e->kill_ns = NEVER;
	if (e->holders > 0) {
		sbx_place_kill(e->session->place);
		sbx_libraries_end(&e->session->libraries);
	}
	if (e->cancel != NULL)
		sbx_cancel_kill(e->cancel);
}

static void end_now(struct sbx_registry *r, struct entry *e)
{
	end_entry(r, e, SBX_END_CLOSED, NEVER);
	kill_holders(e);
}

/* Close one that nobody holds; leaves the lock meanwhile. */
static void bury(struct sbx_registry *r, struct entry *e)
{
	/* A new session may get its address. */
	struct sbx_session *session = take_ptr(e->session);

	e->closing = true;
	pthread_mutex_unlock(&r->lock);
	sbx_session_close(session);
	sbx_spec_free(e->spec);
	pthread_mutex_lock(&r->lock);
	TAILQ_REMOVE(&r->ending, e, link);
	r->count--;
	free(e);
	pthread_cond_broadcast(&r->gone);
}

static bool is_to_be_buried(const struct entry *e)
{
	return e->ended.end != SBX_ALIVE && !is_held(e) && !e->closing;
}

/* ---- the thread ---- */

/*
 * A life that is over ends what runs by itself, with an error that says so; what is still there
 * a moment later is killed.
 */
static void end_due(struct sbx_registry *r, uint64_t now)
{
	struct entry *e, *next;

	for (e = TAILQ_FIRST(&r->live); e != NULL; e = next) {
		next = TAILQ_NEXT(e, link);
		if (now >= e->life_ends_ns)
			end_entry(r, e, SBX_END_LIFETIME, now + LATE_KILL_NS);
		else if (now >= ends_ns(e))
			end_entry(r, e, SBX_END_IDLE, NEVER);
	}
	TAILQ_FOREACH(e, &r->ending, link)
	{
		if (now >= e->kill_ns)
			kill_holders(e);
	}
}

static struct entry *find_dead(struct sbx_registry *r)
{
	struct entry *e;

	TAILQ_FOREACH(e, &r->ending, link)
	{
		if (is_to_be_buried(e))
			return e;
	}
	return NULL;
}

static uint64_t next_due_ns(const struct sbx_registry *r)
{
	const struct entry *e;
	uint64_t due = NEVER;

	TAILQ_FOREACH(e, &r->live, link)
	due = earlier(due, ends_ns(e));
	TAILQ_FOREACH(e, &r->ending, link)
	due = earlier(due, e->kill_ns);
	return due;
}

static void wait_until(struct sbx_registry *r, uint64_t due_ns)
{
	struct timespec when = {.tv_sec = (time_t)(due_ns / SBX_NS_PER_S),
				.tv_nsec = (long)(due_ns % SBX_NS_PER_S)};

	if (due_ns == NEVER)
		pthread_cond_wait(&r->changed, &r->lock);
	else
		pthread_cond_timedwait(&r->changed, &r->lock, &when);
}

static void *keep_time(void *registry)
{
	struct sbx_registry *r = registry;
	struct entry *dead;

	pthread_mutex_lock(&r->lock);
	while (!r->over || !TAILQ_EMPTY(&r->ending)) {
		end_due(r, sbx_now_ns());
		dead = find_dead(r);
		if (dead != NULL)
			bury(r, dead);
		else
			wait_until(r, next_due_ns(r));
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static int start_thread(struct sbx_registry *r, struct sbx_error *err)
{
	int failure = sbx_thread_start(&r->thread, keep_time, r);

	return failure ? sbx_fail_errno(err, failure, "cannot start the thread of the sessions")
		       : 0;
}

/* ---- new and free ---- */

static void init_locks(struct sbx_registry *r)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->gone, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&r->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void free_registry(struct sbx_registry *r)
{
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->gone);
	pthread_cond_destroy(&r->changed);
	free(r);
}

int sbx_registry_new(const struct sbx_registry_limits *limits, struct sbx_registry **ret,
		     struct sbx_error *err)
{
	struct sbx_error lent;
	struct sbx_registry *r = calloc(1, sizeof(*r));
	int failure;

	err = err ? err : &lent;
	if (r == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot make a registry of sessions");
	r->limits = limits ? *limits : (struct sbx_registry_limits){0};
	r->limits.most = r->limits.most ? r->limits.most : MOST_STANDARD;
	r->limits.idle_ms = r->limits.idle_ms ? r->limits.idle_ms : IDLE_MS_STANDARD;
	r->limits.lifetime_ms =
		r->limits.lifetime_ms ? r->limits.lifetime_ms : LIFETIME_MS_STANDARD;
	TAILQ_INIT(&r->live);
	TAILQ_INIT(&r->ending);
	init_locks(r);
	failure = start_thread(r, err);
	if (failure < 0) {
		free_registry(r);
		return failure;
	}
	*ret = r;
	return 0;
}

void sbx_registry_free(struct sbx_registry *r)
{
	if (r == NULL)
		return;
	pthread_mutex_lock(&r->lock);
	r->over = true;
	while (!TAILQ_EMPTY(&r->live))
		end_now(r, TAILQ_FIRST(&r->live));
	while (r->count > 0 || r->closers > 0)
		pthread_cond_wait(&r->gone, &r->lock);
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	free_registry(r);
}

/* ---- open ---- */

static int make_id(char ret[ID_MAX], struct sbx_error *err)
{
	unsigned char bytes[ID_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return sbx_fail_errno(err, errno, "cannot make a session's id");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int copy_text(const char *what, const char *text, char *ret, size_t size,
		     struct sbx_error *err)
{
	if (text != NULL && strlen(text) >= size)
		return sbx_fail(err, SBX_E_INVALID, "the %s '%.64s…' is longer than %zu bytes",
				what, text, size - 1);
	snprintf(ret, size, "%s", text ? text : "");
	return 0;
}

/* 0 is the registry's; nobody gets more than that. */
static uint64_t bounded(uint64_t wanted, uint64_t most)
{
	return wanted == 0 || wanted > most ? most : wanted;
}

/* The session ends what runs when its time is over; we end the session. */
static int set_lifetime(struct entry *e, uint64_t lifetime_ms, struct sbx_error *err)
{
	const struct sbx_limit_info *info = sbx_limit_describe(SBX_LIMIT_SESSION_MS);

	e->lifetime_ms = bounded(sbx_spec_get_limit(e->spec, SBX_LIMIT_SESSION_MS), lifetime_ms);
	if (e->lifetime_ms > info->most)
		return 0;
	return sbx_spec_set_limit(e->spec, SBX_LIMIT_SESSION_MS, e->lifetime_ms, err);
}

static int fill_entry(const struct sbx_registry *r, const struct sbx_registry_open *how,
		      struct entry *e, struct sbx_error *err)
{
	int result = make_id(e->info.id, err);

	if (result == 0)
		result = copy_text("label", how->label, e->info.label, sizeof(e->info.label), err);
	if (result == 0)
		result = copy_text("language", how->language, e->info.language,
				   sizeof(e->info.language), err);
	if (result == 0)
		result = copy_text("owner", how->owner, e->owner, sizeof(e->owner), err);
	TAILQ_INIT(&e->waiters);
	e->info.created = (uint64_t)time(NULL);
	e->idle_ms = bounded(how->idle_ms, r->limits.idle_ms);
	if (result == 0)
		result = set_lifetime(e, bounded(how->lifetime_ms, r->limits.lifetime_ms), err);
	return result;
}

static int reserve(struct sbx_registry *r, struct sbx_error *err)
{
	int result = 0;

	pthread_mutex_lock(&r->lock);
	if (r->over) {
		result = sbx_fail(err, SBX_E_UNAVAILABLE,
				  "the sessions end now; no new one is opened");
	} else if (r->count >= r->limits.most) {
		result = sbx_fail(
			err, SBX_E_LIMIT,
			"%zu sessions are open and no more are allowed; close one that is not "
			"needed, or wait until one expires",
			r->count);
	} else {
		r->count++;
		r->opening++;
	}
	pthread_mutex_unlock(&r->lock);
	return result;
}

static void give_back(struct sbx_registry *r)
{
	pthread_mutex_lock(&r->lock);
	r->count--;
	r->opening--;
	pthread_cond_broadcast(&r->gone);
	pthread_mutex_unlock(&r->lock);
}

static uint64_t left_ms(uint64_t when_ns, uint64_t now)
{
	if (when_ns == NEVER)
		return SBX_TIMEOUT_NONE;
	return when_ns <= now ? 0 : (when_ns - now) / SBX_NS_PER_MS;
}

static struct sbx_session_info describe(const struct entry *e)
{
	struct sbx_session_info info = e->info;
	uint64_t now = sbx_now_ns();

	info.busy = e->holders > 0;
	info.idle_ms = info.busy ? 0 : (now - e->used_ns) / SBX_NS_PER_MS;
	info.lifetime_left_ms = left_ms(e->life_ends_ns, now);
	info.expires_in_ms = left_ms(ends_ns(e), now);
	return info;
}

static void add_entry(struct sbx_registry *r, struct entry *e, struct sbx_session_info *ret)
{
	struct sbx_session_info info;

	pthread_mutex_lock(&r->lock);
	r->opening--;
	info = describe(e);
	TAILQ_INSERT_TAIL(&r->live, e, link);
	if (r->over) {
		end_now(r, e);
		bury(r, e);
	}
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
	if (ret != NULL)
		*ret = info;
}

/* Takes the entry. */
static int open_entry(struct sbx_registry *r, struct entry *e, struct sbx_session_info *ret,
		      struct sbx_error *err)
{
	int result = reserve(r, err);

	if (result == 0) {
		result = sbx_session_open(e->spec, &e->session, err);
		/* That may have taken long: an image was pulled or built. It is not what a session lives for. */
		e->used_ns = sbx_now_ns();
		e->life_ends_ns = after_ns(e->used_ns, e->lifetime_ms);
		/* The session stays when whoever asked for it, and his handle, are gone. */
		sbx_spec_set_cancel(e->spec, NULL);
		if (result < 0)
			give_back(r);
	}
	if (result == 0) {
		add_entry(r, e, ret);
		return 0;
	}
	sbx_spec_free(e->spec);
	free(e);
	return result;
}

int sbx_registry_open(struct sbx_registry *r, const struct sbx_registry_open *how,
		      struct sbx_session_info *ret_info, struct sbx_error *err)
{
	struct sbx_error lent;
	struct entry *e = calloc(1, sizeof(*e));
	int result;

	err = err ? err : &lent;
	if (e == NULL) {
		sbx_spec_free(how->spec);
		return sbx_fail_errno(err, ENOMEM, "cannot open a session");
	}
	e->spec = how->spec;
	result = fill_entry(r, how, e, err);
	if (result < 0) {
		sbx_spec_free(e->spec);
		free(e);
		return result;
	}
	return open_entry(r, e, ret_info, err);
}

/* ---- acquire and release ---- */

/* The live entry, which is due for no end; else the reason. */
static struct entry *find_usable(struct sbx_registry *r, const char *owner, const char *name,
				 struct sbx_error *err)
{
	struct entry *e;

	/* The thread may be late; what is over is over all the same. */
	end_due(r, sbx_now_ns());
	e = find_named(&r->live, owner, name);
	if (e == NULL)
		fail_unknown(r, owner, name, err);
	return e;
}

static void hold(struct entry *e)
{
	e->holders++;
	e->info.operations++;
}

static void hold_alone(struct entry *e, struct sbx_cancel *cancel)
{
	hold(e);
	e->alone = true;
	e->cancel = cancel;
}

int sbx_registry_acquire(struct sbx_registry *r, const char *owner, const char *id,
			 struct sbx_session **ret, struct sbx_error *err)
{
	struct sbx_error lent;
	struct entry *e;
	int result = 0;

	err = err ? err : &lent;
	pthread_mutex_lock(&r->lock);
	e = find_usable(r, owner, id, err);
	if (e != NULL) {
		hold(e);
		*ret = e->session;
	} else {
		result = -(int)err->code;
	}
	pthread_mutex_unlock(&r->lock);
	return result;
}

/* The first who waits has it alone now. */
static void pass_on(struct entry *e)
{
	struct waiter *w = TAILQ_FIRST(&e->waiters);

	e->alone = false;
	e->cancel = NULL;
	if (w == NULL || e->ended.end != SBX_ALIVE)
		return;
	w->granted = true;
	TAILQ_REMOVE(&e->waiters, w, link);
	e->waiter_count--;
	hold_alone(e, w->cancel);
	eventfd_write(w->wake_fd, 1);
}

static void let_go(struct sbx_registry *r, const struct sbx_session *session, bool alone)
{
	struct entry *e;

	pthread_mutex_lock(&r->lock);
	e = get_held(r, session);
	e->holders--;
	e->used_ns = sbx_now_ns();
	if (alone)
		pass_on(e);
	if (is_to_be_buried(e))
		bury(r, e);
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

void sbx_registry_release(struct sbx_registry *r, struct sbx_session *session)
{
	let_go(r, session, false);
}

void sbx_registry_release_alone(struct sbx_registry *r, struct sbx_session *session)
{
	let_go(r, session, true);
}

/* ---- waiting to have it alone ---- */

/* Until something wakes the waiter, or the cancel handle is killed. Without the lock. */
static void await_turn(const struct waiter *w, struct sbx_cancel *cancel)
{
	struct pollfd fds[2] = {{.fd = w->wake_fd, .events = POLLIN},
				{.fd = cancel ? cancel->eventfd : -1, .events = POLLIN}};
	eventfd_t ignored;

	while (!sbx_cancel_is_killed(cancel)) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		if (fds[0].revents != 0)
			return;
		/* An interrupt is for a program, and none runs yet: it does not end the waiting. */
		if (fds[1].revents != 0)
			eventfd_read(fds[1].fd, &ignored);
	}
}

static void leave_queue(struct entry *e, struct waiter *w)
{
	TAILQ_REMOVE(&e->waiters, w, link);
	e->waiter_count--;
}

/* With the lock, which it leaves while it waits. */
static int queue_up(struct sbx_registry *r, struct entry *e, struct sbx_cancel *cancel,
		    struct sbx_error *err)
{
	auto_close int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct waiter w = {.wake_fd = fd, .cancel = cancel};
	struct sbx_ended ended;

	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot wait for a session");
	if (e->waiter_count >= WAITERS_MAX)
		return sbx_fail(
			err, SBX_E_UNAVAILABLE,
			"the session %s is busy and %u wait for it already; try again later",
			e->info.id, e->waiter_count);
	TAILQ_INSERT_TAIL(&e->waiters, &w, link);
	e->waiter_count++;
	pthread_mutex_unlock(&r->lock);
	await_turn(&w, cancel);
	pthread_mutex_lock(&r->lock);
	if (w.granted)
		return 0;
	leave_queue(e, &w);
	if (e->ended.end == SBX_ALIVE)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"cancelled while the session was busy with another call");
	ended = e->ended;
	if (is_to_be_buried(e))
		pthread_cond_signal(&r->changed);
	return sbx_ended_fail(&ended, SBX_E_NOT_FOUND, err);
}

int sbx_registry_acquire_alone(struct sbx_registry *r, const char *owner, const char *id,
			       struct sbx_cancel *cancel, struct sbx_session **ret,
			       struct sbx_error *err)
{
	struct sbx_error lent;
	struct entry *e;
	int result = 0;

	err = err ? err : &lent;
	pthread_mutex_lock(&r->lock);
	e = find_usable(r, owner, id, err);
	if (e == NULL) {
		result = -(int)err->code;
	} else if (e->alone) {
		result = queue_up(r, e, cancel, err);
	} else {
		hold_alone(e, cancel);
	}
	if (result == 0)
		*ret = e->session;
	pthread_mutex_unlock(&r->lock);
	return result;
}

int sbx_registry_check(struct sbx_registry *r, const struct sbx_session *session,
		       struct sbx_error *err)
{
	struct sbx_error lent;
	const struct entry *e;
	int result = 0;

	err = err ? err : &lent;
	pthread_mutex_lock(&r->lock);
	end_due(r, sbx_now_ns());
	e = get_held(r, session);
	if (e->ended.end != SBX_ALIVE)
		result = sbx_ended_fail(
			&e->ended,
			e->ended.end == SBX_END_CLOSED ? SBX_E_UNAVAILABLE : SBX_E_TIMEOUT, err);
	pthread_mutex_unlock(&r->lock);
	return result;
}

/* ---- list and close ---- */

int sbx_registry_list(struct sbx_registry *r, const char *owner, struct sbx_session_info **ret,
		      size_t *ret_count, struct sbx_error *err)
{
	struct sbx_error lent;
	struct sbx_session_info *list;
	const struct entry *e;
	size_t n = 0;

	err = err ? err : &lent;
	pthread_mutex_lock(&r->lock);
	end_due(r, sbx_now_ns());
	list = calloc(r->count + 1, sizeof(*list));
	TAILQ_FOREACH(e, &r->live, link)
	{
		if (list != NULL && sbx_owner_sees(owner, e->owner))
			list[n++] = describe(e);
	}
	pthread_mutex_unlock(&r->lock);
	if (list == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot list the sessions");
	*ret = list;
	*ret_count = n;
	return 0;
}

/* The name of a session is of its owner; its id is of it alone. */
static void await_end(struct sbx_registry *r, const char *id)
{
	while (find_named(&r->ending, NULL, id) != NULL)
		pthread_cond_wait(&r->gone, &r->lock);
}

int sbx_registry_close(struct sbx_registry *r, const char *owner, const char *id,
		       struct sbx_error *err)
{
	struct sbx_error lent;
	char full_id[ID_MAX];
	struct entry *e;
	int result = 0;

	err = err ? err : &lent;
	pthread_mutex_lock(&r->lock);
	r->closers++;
	e = find_usable(r, owner, id, err);
	if (e == NULL) {
		result = -(int)err->code;
	} else {
		memcpy(full_id, e->info.id, sizeof(full_id));
		end_now(r, e);
		if (is_to_be_buried(e))
			bury(r, e);
		await_end(r, full_id);
	}
	r->closers--;
	pthread_cond_broadcast(&r->gone);
	pthread_mutex_unlock(&r->lock);
	return result;
}

void sbx_registry_close_owner(struct sbx_registry *r, const char *owner)
{
	struct entry *e, *next;

	pthread_mutex_lock(&r->lock);
	for (e = TAILQ_FIRST(&r->live); e != NULL; e = next) {
		next = TAILQ_NEXT(e, link);
		if (sbx_owner_sees(owner, e->owner))
			end_now(r, e);
	}
	pthread_mutex_unlock(&r->lock);
}
