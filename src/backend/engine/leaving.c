/* SPDX-License-Identifier: MIT */
#include "backend/engine/leaving.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>

#define PATIENCE_MS 3000

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static unsigned int open_count;

static void wait_at_exit(void)
{
	struct timespec until = sbx_timespec(sbx_deadline_ns(PATIENCE_MS));

	pthread_mutex_lock(&lock);
	while (open_count > 0 && pthread_cond_timedwait(&changed, &lock, &until) == 0)
		;
	pthread_mutex_unlock(&lock);
}

static void init_changed(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &attr);
	pthread_condattr_destroy(&attr);
}

/* A process that is forked off has none of the threads, one of which may have had the lock. */
static void start_anew_in_a_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	open_count = 0;
	init_changed();
}

static void start(void)
{
	init_changed();
	pthread_atfork(NULL, NULL, start_anew_in_a_child);
	atexit(wait_at_exit);
}

void engine_leaving_begin(void)
{
	pthread_once(&once, start);
	pthread_mutex_lock(&lock);
	open_count++;
	pthread_mutex_unlock(&lock);
}

void engine_leaving_end(void)
{
	pthread_mutex_lock(&lock);
	open_count--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}
