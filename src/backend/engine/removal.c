/* SPDX-License-Identifier: MIT */
#include "backend/engine/removal.h"

#include "backend/engine/image.h"
#include "backend/engine/known.h"
#include "backend/engine/owner.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define GRACE_NS  (3 * SBX_NS_PER_S) /* an engine takes a second, and more when many end at once */
#define AGAIN_NS  (2 * SBX_NS_PER_S) /* doubled each time */
#define TOGETHER_NS (SBX_NS_PER_S / 2) /* what is due soon is looked at with what is */
#define TRIES_MAX 5
#define WAITS_MAX 10 /* for the end of an own removal that is under way */

struct entry {
	struct engine_container container;
	uint64_t due_ns;
	unsigned int tries, waits;
	struct entry *next;
};

/* Of one engine. The list is under the lock; the client is the thread's. */
struct queue {
	struct engine_client *client;
	struct entry *first;
	pthread_cond_t changed;
	struct queue *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue *queues;

/* A process that is forked off has none of the threads, one of which may have had the lock. */
static void start_anew_in_a_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	queues = NULL;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, start_anew_in_a_child);
}

/* ---- one container ---- */

static void free_entry(struct entry *e)
{
	engine_container_done(&e->container);
	free(e);
}

/* Whether the engine is about to remove it: only Docker says so. */
static bool is_going(const json_t *listed)
{
	return strcmp(json_string_value(json_object_get(listed, "State")) ?: "", "removing") == 0;
}

/* Later, or never: then it is nobody's, and the sweep is to look soon. */
static bool put_off(struct queue *q, struct entry *e)
{
	e->due_ns = sbx_now_ns() + (AGAIN_NS << e->tries);
	e->tries++;
	if (e->tries <= TRIES_MAX)
		return false;
	engine_known_suspect(engine_client_key(q->client));
	return true;
}

/* Whether there is nothing more to do about it. */
static bool handle(struct queue *q, struct entry *e, const json_t *list)
{
	struct sbx_error ignored;
	const json_t *listed;

	if (list == NULL)
		return put_off(q, e);
	listed = engine_find(list, "Id", e->container.id);
	if (listed == NULL)
		return true;
	if (is_going(listed) && e->waits < WAITS_MAX) {
		e->waits++;
		e->due_ns = sbx_now_ns() + AGAIN_NS;
		return false;
	}
	if (engine_container_remove(q->client, &e->container, &ignored) == 0)
		return true;
	return put_off(q, e);
}

/* ---- all that are due ---- */

/* Those of this process alone: {"label":["llm-sandbox.owner=…"]}. NULL: the engine does not say. */
static json_t *list_mine(struct engine_client *client)
{
	auto_buf struct sbx_buf path = SBX_BUF_INIT(4096);
	struct engine_request request = {.method = "GET"};
	char me[ENGINE_OWNER_MAX], filter[ENGINE_OWNER_MAX + 64];
	struct sbx_error ignored;
	json_t *list = NULL;

	snprintf(filter, sizeof(filter), "{\"label\":[\"" ENGINE_LABEL_OWNER "=%s\"]}",
		 engine_owner_format(me));
	sbx_buf_puts(&path, "/containers/json?all=1&filters=");
	engine_append_escaped(&path, filter);
	request.path = path.data;
	if (path.failed || engine_call(client, &request, &list, &ignored) < 0)
		return NULL;
	if (json_is_array(list))
		return list;
	json_decref(list);
	return NULL;
}

/* Take those out whose time has come; *ret_next is that of the next one, 0: there is none. */
static struct entry *take_due(struct queue *q, uint64_t *ret_next)
{
	struct entry *due = NULL, **at = &q->first;

	*ret_next = 0;
	while (*at != NULL) {
		struct entry *e = *at;

		if (e->due_ns <= sbx_now_ns() + TOGETHER_NS) {
			*at = e->next;
			e->next = due;
			due = e;
			continue;
		}
		if (*ret_next == 0 || e->due_ns < *ret_next)
			*ret_next = e->due_ns;
		at = &e->next;
	}
	return due;
}

static void handle_all(struct queue *q, struct entry *due)
{
	json_t *list = list_mine(q->client);

	while (due != NULL) {
		struct entry *e = due;

		due = e->next;
		if (handle(q, e, list)) {
			free_entry(e);
			continue;
		}
		pthread_mutex_lock(&lock);
		e->next = q->first;
		q->first = e;
		pthread_mutex_unlock(&lock);
	}
	json_decref(list);
}

/* ---- the thread ---- */

static void drop_queue(struct queue *q)
{
	for (struct queue **at = &queues; *at != NULL; at = &(*at)->next) {
		if (*at == q) {
			*at = q->next;
			break;
		}
	}
}

static void *removal_main(void *arg)
{
	struct queue *q = arg;

	pthread_mutex_lock(&lock);
	while (q->first != NULL) {
		uint64_t next;
		struct entry *due = take_due(q, &next);

		if (due != NULL) {
			pthread_mutex_unlock(&lock);
			handle_all(q, due);
			pthread_mutex_lock(&lock);
		} else {
			struct timespec until = sbx_timespec(next);

			pthread_cond_timedwait(&q->changed, &lock, &until);
		}
	}
	drop_queue(q);
	pthread_mutex_unlock(&lock);
	engine_client_close(q->client);
	pthread_cond_destroy(&q->changed);
	free(q);
	return NULL;
}

/* ---- the queue ---- */

static struct queue *find_queue(const struct engine_client *client)
{
	struct queue *q;

	for (q = queues; q != NULL; q = q->next) {
		if (strcmp(engine_client_key(q->client), engine_client_key(client)) == 0)
			break;
	}
	return q;
}

static struct queue *new_queue(const struct engine_client *client)
{
	struct queue *q = calloc(1, sizeof(*q));
	pthread_condattr_t attr;
	struct sbx_error ignored;

	if (q == NULL)
		return NULL;
	if (engine_client_open_again(client, &q->client, &ignored) < 0) {
		free(q);
		return NULL;
	}
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->changed, &attr);
	pthread_condattr_destroy(&attr);
	return q;
}

/* In the queue of its engine, or in a new one with its thread. */
static bool enqueue(const struct engine_client *client, struct entry *e)
{
	struct queue *q = find_queue(client), *made = NULL;

	if (q == NULL)
		q = made = new_queue(client);
	if (q == NULL)
		return false;
	e->next = q->first;
	q->first = e;
	if (made == NULL) {
		pthread_cond_signal(&q->changed);
		return true;
	}
	if (sbx_thread_start_detached(removal_main, made) != 0) {
		engine_client_close(made->client);
		pthread_cond_destroy(&made->changed);
		free(made);
		return false;
	}
	made->next = queues;
	queues = made;
	return true;
}

/* What it was made of is still the place's. */
static void move_to(struct entry *e, struct engine_container *container)
{
	snprintf(e->container.id, sizeof(e->container.id), "%s", container->id);
	memcpy(e->container.session, container->session, sizeof(container->session));
	container->session[0] = '\0';
}

void engine_removal_leave(const struct engine_client *client, struct engine_container *container,
			  bool now)
{
	struct entry *e;
	bool kept;

	if (container->id[0] == '\0' || container->program[0] != '\0')
		return;
	e = calloc(1, sizeof(*e));
	if (e == NULL)
		return;
	move_to(e, container);
	e->due_ns = sbx_now_ns() + (now ? 0 : GRACE_NS);
	pthread_mutex_lock(&lock);
	kept = enqueue(client, e);
	pthread_mutex_unlock(&lock);
	if (!kept)
		free_entry(e);
}
