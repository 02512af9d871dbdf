/* SPDX-License-Identifier: MIT */
/*
 * A bounded set of threads that run calls; what finds none free waits in a queue. What is to act
 * on calls that run may find all threads taken by them, so there are more that do nothing else;
 * and of these too all may wait, so one is left for what waits for nothing.
 */
#include "mcp/core.h"

#include <signal.h>
#include <stdlib.h>

#define WORKERS_MAX 256
#define URGENT_MAX  3
#define INSTANT_MAX 1

STAILQ_HEAD(queue, mcp_call);

/* Threads that take calls of one urgency and of those above. */
struct crew {
	struct mcp_workers *workers;
	enum mcp_urgency least;
	pthread_cond_t changed;
	unsigned int count, idle, most;
	pthread_t threads[WORKERS_MAX];
};

struct mcp_workers {
	struct mcp_server *server;
	pthread_mutex_t lock;
	struct queue queues[MCP_URGENCY_COUNT];
	struct crew crews[MCP_URGENCY_COUNT];
	bool over;
};

static void finished(void *call, void *unused)
{
	(void)unused;
	mcp_call_finished(call);
}

/* The most urgent that this crew may take, or NULL. */
static struct mcp_call *take(const struct crew *crew)
{
	for (int urgency = MCP_URGENCY_COUNT - 1; urgency >= (int)crew->least; urgency--) {
		struct queue *queue = &crew->workers->queues[urgency];
		struct mcp_call *call = STAILQ_FIRST(queue);

		if (call != NULL) {
			STAILQ_REMOVE_HEAD(queue, queued);
			return call;
		}
	}
	return NULL;
}

/* The next call, or NULL when the server ends. */
static struct mcp_call *next_call(struct crew *crew)
{
	struct mcp_workers *w = crew->workers;
	struct mcp_call *call;

	pthread_mutex_lock(&w->lock);
	crew->idle++;
	while ((call = take(crew)) == NULL && !w->over)
		pthread_cond_wait(&crew->changed, &w->lock);
	crew->idle--;
	pthread_mutex_unlock(&w->lock);
	return call;
}

static void *work(void *userdata)
{
	struct crew *crew = userdata;
	struct mcp_call *call;

	while ((call = next_call(crew)) != NULL) {
		mcp_call_run(call);
		mcp_post(crew->workers->server->posts, finished, call, NULL);
	}
	return NULL;
}

static unsigned int choose_most(unsigned int count)
{
	return count == 0 ? 8 : count < WORKERS_MAX ? count : WORKERS_MAX;
}

struct mcp_workers *mcp_workers_new(struct mcp_server *server, unsigned int count)
{
	const unsigned int most[MCP_URGENCY_COUNT] = {choose_most(count), URGENT_MAX, INSTANT_MAX};
	struct mcp_workers *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->server = server;
	pthread_mutex_init(&w->lock, NULL);
	for (int i = 0; i < MCP_URGENCY_COUNT; i++) {
		STAILQ_INIT(&w->queues[i]);
		w->crews[i].workers = w;
		w->crews[i].least = (enum mcp_urgency)i;
		w->crews[i].most = most[i];
		pthread_cond_init(&w->crews[i].changed, NULL);
	}
	return w;
}

/* Threads are started when there is work for one more; signals are the loop's. */
static void start_thread(struct crew *crew)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&crew->threads[crew->count], NULL, work, crew) == 0)
		crew->count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static size_t waiting(const struct crew *crew)
{
	const struct mcp_call *call;
	size_t n = 0;

	for (int urgency = (int)crew->least; urgency < MCP_URGENCY_COUNT; urgency++) {
		STAILQ_FOREACH(call, &crew->workers->queues[urgency], queued)
			n++;
	}
	return n;
}

static enum mcp_urgency urgency_of(const struct mcp_call *call)
{
	if (call->kind != MCP_CALL_TOOL || call->tool->urgency == NULL)
		return MCP_PATIENT;
	return call->tool->urgency(call->arguments);
}

void mcp_workers_add(struct mcp_workers *w, struct mcp_call *call)
{
	enum mcp_urgency urgency = urgency_of(call);
	struct crew *crew = &w->crews[urgency];

	pthread_mutex_lock(&w->lock);
	STAILQ_INSERT_TAIL(&w->queues[urgency], call, queued);
	if (waiting(crew) > crew->idle && crew->count < crew->most)
		start_thread(crew);
	for (int i = 0; i <= (int)urgency; i++)
		pthread_cond_signal(&w->crews[i].changed);
	pthread_mutex_unlock(&w->lock);
}

void mcp_workers_free(struct mcp_workers *w)
{
	if (w == NULL)
		return;
	pthread_mutex_lock(&w->lock);
	w->over = true;
	for (int i = 0; i < MCP_URGENCY_COUNT; i++)
		pthread_cond_broadcast(&w->crews[i].changed);
	pthread_mutex_unlock(&w->lock);
	for (int i = 0; i < MCP_URGENCY_COUNT; i++) {
		for (unsigned int n = 0; n < w->crews[i].count; n++)
			pthread_join(w->crews[i].threads[n], NULL);
		pthread_cond_destroy(&w->crews[i].changed);
	}
	pthread_mutex_destroy(&w->lock);
	free(w);
}
