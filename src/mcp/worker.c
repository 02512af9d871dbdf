/* SPDX-License-Identifier: MIT */
/* A bounded set of threads that run calls; what finds none free waits in a queue. */
#include "mcp/core.h"

#include <signal.h>
#include <stdlib.h>

#define WORKERS_MAX 256

struct mcp_workers {
	struct mcp_server *server;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	STAILQ_HEAD(, mcp_call) queue;
	bool over;
	unsigned int count, idle, most;
	pthread_t threads[WORKERS_MAX];
};

static void finished(void *call, void *unused)
{
	(void)unused;
	mcp_call_finished(call);
}

/* The next call, or NULL when the server ends. */
static struct mcp_call *next_call(struct mcp_workers *w)
{
	struct mcp_call *call;

	pthread_mutex_lock(&w->lock);
	w->idle++;
	while (STAILQ_EMPTY(&w->queue) && !w->over)
		pthread_cond_wait(&w->changed, &w->lock);
	w->idle--;
	call = STAILQ_FIRST(&w->queue);
	if (call != NULL)
		STAILQ_REMOVE_HEAD(&w->queue, queued);
	pthread_mutex_unlock(&w->lock);
	return call;
}

static void *work(void *userdata)
{
	struct mcp_workers *w = userdata;
	struct mcp_call *call;

	while ((call = next_call(w)) != NULL) {
		mcp_call_run(call);
		mcp_post(w->server->posts, finished, call, NULL);
	}
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
	STAILQ_INIT(&w->queue);
	return w;
}

/* Threads are started when there is work for one more; signals are the loop's. */
static void start_thread(struct mcp_workers *w)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&w->threads[w->count], NULL, work, w) == 0)
		w->count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static size_t waiting(const struct mcp_workers *w)
{
	const struct mcp_call *call;
	size_t n = 0;

	STAILQ_FOREACH(call, &w->queue, queued)
		n++;
	return n;
}

void mcp_workers_add(struct mcp_workers *w, struct mcp_call *call)
{
	pthread_mutex_lock(&w->lock);
	STAILQ_INSERT_TAIL(&w->queue, call, queued);
	if (waiting(w) > w->idle && w->count < w->most)
		start_thread(w);
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

void mcp_workers_free(struct mcp_workers *w)
{
	if (w == NULL)
		return;
	pthread_mutex_lock(&w->lock);
	w->over = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	for (unsigned int i = 0; i < w->count; i++)
		pthread_join(w->threads[i], NULL);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
