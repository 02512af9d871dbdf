/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>

int sbx_thread_start(pthread_t *ret, void *(*function)(void *), void *data)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, NULL, function, data);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int sbx_thread_start_detached(void *(*function)(void *), void *data)
{
	pthread_t thread;
	int r = sbx_thread_start(&thread, function, data);

	if (r == 0)
		pthread_detach(thread);
	return r;
}
