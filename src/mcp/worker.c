/* SPDX-License-Identifier: MIT */
/*
 * A bounded set of threads that run calls; what finds none free waits in a queue. What is to act
 * on calls that run may find all threads taken by them, so it has some more for itself.
 */
#include "mcp/core.h"

#include <signal.h>
#include <stdlib.h>

#define WORKERS_MAX 256
#define URGENT_MAX  4

STAILQ_HEAD(queue, mcp_call);

struct mcp_workers {
	struct mcp_server *server;
	pthread_mutex_t lock;
	pthread_cond_t changed;	       /* for those who take all */
	pthread_cond_t urgent_changed; /* for those who take what is urgent */
	struct queue queue, urgent;
	bool over;
	unsigned int count, idle, most;
	unsigned int urgent_count, urgent_idle;
	pthread_t threads[WORKERS_MAX], urgent_threads[URGENT_MAX];
};

static void finished(void *call, void *unused)
{
	(void)unused;
	mcp_call_finished(call);
}

static struct mcp_call *take(struct queue *queue)
{
	struct mcp_call *call = STAILQ_FIRST(queue);

	if (call != NULL)
		STAILQ_REMOVE_HEAD(queue, queued);
	return call;
}

/* The next call, or NULL when the server ends. */
static struct mcp_call *next_call(struct mcp_workers *w)
{
	struct mcp_call *call;

	pthread_mutex_lock(&w->lock);
	w->idle++;
	while (STAILQ_EMPTY(&w->urgent) && STAILQ_EMPTY(&w->queue) && !w->over)
		pthread_cond_wait(&w->changed, &w->lock);
	w->idle--;
	call = take(STAILQ_EMPTY(&w->urgent) ? &w->queue : &w->urgent);
	pthread_mutex_unlock(&w->lock);
	return call;
}

static struct mcp_call *next_urgent(struct mcp_workers *w)
{
	struct mcp_call *call;

	pthread_mutex_lock(&w->lock);
	w->urgent_idle++;
	while (STAILQ_EMPTY(&w->urgent) && !w->over)
		pthread_cond_wait(&w->urgent_changed, &w->lock);
	w->urgent_idle--;
	call = take(&w->urgent);
	pthread_mutex_unlock(&w->lock);
	return call;
}

static void run(struct mcp_workers *w, struct mcp_call *call)
{
	mcp_call_run(call);
	mcp_post(w->server->posts, finished, call, NULL);
}

static void *work(void *userdata)
{
	struct mcp_workers *w = userdata;
	struct mcp_call *call;

	while ((call = next_call(w)) != NULL)
		run(w, call);
	return NULL;
}

static void *work_urgently(void *userdata)
{
	struct mcp_workers *w = userdata;
	struct mcp_call *call;

	while ((call = next_urgent(w)) != NULL)
		run(w, call);
	return NULL;
}

struct mcp_workers *mcp_workers_new(struct mcp_server *server, unsigned int count)
{
	struct mcp_workers *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->server = server;
	w->most = count == 0 ? 8 : count < WORKERS_MAX ? count : WORKERS_MAX;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	pthread_cond_init(&w->urgent_changed, NULL);
	STAILQ_INIT(&w->queue);
	STAILQ_INIT(&w->urgent);
	return w;
}

/* Threads are started when there is work for one more; signals are the loop's. */
static void start_thread(struct mcp_workers *w, pthread_t *thread, void *(*function)(void *),
			 unsigned int *count)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(thread, NULL, function, w) == 0)
		(*count)++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static size_t waiting(const struct queue *queue)
{
	const struct mcp_call *call;
	size_t n = 0;

	STAILQ_FOREACH(call, queue, queued)
		n++;
	return n;
}

static void add(struct mcp_workers *w, struct mcp_call *call)
{
	STAILQ_INSERT_TAIL(&w->queue, call, queued);
	if (waiting(&w->queue) + waiting(&w->urgent) > w->idle && w->count < w->most)
		start_thread(w, &w->threads[w->count], work, &w->count);
	pthread_cond_signal(&w->changed);
}

static void add_urgent(struct mcp_workers *w, struct mcp_call *call)
{
	STAILQ_INSERT_TAIL(&w->urgent, call, queued);
	if (waiting(&w->urgent) > w->urgent_idle && w->urgent_count < URGENT_MAX)
		start_thread(w, &w->urgent_threads[w->urgent_count], work_urgently,
			     &w->urgent_count);
	pthread_cond_signal(&w->changed);
	pthread_cond_signal(&w->urgent_changed);
}

void mcp_workers_add(struct mcp_workers *w, struct mcp_call *call)
{
	pthread_mutex_lock(&w->lock);
	if (call->kind == MCP_CALL_TOOL && call->tool->urgent)
		add_urgent(w, call);
	else
		add(w, call);
	pthread_mutex_unlock(&w->lock);
}

void mcp_workers_free(struct mcp_workers *w)
{
	if (w == NULL)
		return;
	pthread_mutex_lock(&w->lock);
	w->over = true;
	pthread_cond_broadcast(&w->changed);
	pthread_cond_broadcast(&w->urgent_changed);
	pthread_mutex_unlock(&w->lock);
	for (unsigned int i = 0; i < w->count; i++)
		pthread_join(w->threads[i], NULL);
	for (unsigned int i = 0; i < w->urgent_count; i++)
		pthread_join(w->urgent_threads[i], NULL);
	pthread_cond_destroy(&w->urgent_changed);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
