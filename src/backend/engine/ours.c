/* SPDX-License-Identifier: MIT */
#include "backend/engine/ours.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define INSTANCE_LEN 12 /* digits that all names of this copy of the library begin with */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char (*names)[ENGINE_SESSION_MAX];
static size_t count, room;
static char instance[INSTANCE_LEN + 1];

/* A process that is forked off has none of the threads, one of which may have had the lock. */
static void start_anew_in_a_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	names = NULL;
	count = room = 0;
	instance[0] = '\0';
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, start_anew_in_a_child);
}

static void add_digits(char *ret, size_t digits)
{
	unsigned char bytes[16] = {0};

	if (getrandom(bytes, sizeof(bytes), 0) < 0)
		memset(bytes, 0, sizeof(bytes));
	for (size_t i = 0; i < digits / 2; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

/* What cannot be remembered is as if it were another's: never lost. */
static bool remember(const char *name)
{
	if (count == room) {
		size_t more = room ? 2 * room : 16;
		void *grown = reallocarray(names, more, sizeof(*names));

		if (grown == NULL)
			return false;
		names = grown;
		room = more;
	}
	memcpy(names[count++], name, ENGINE_SESSION_MAX);
	return true;
}

void engine_ours_add(char ret[ENGINE_SESSION_MAX])
{
	pthread_mutex_lock(&lock);
	if (instance[0] == '\0')
		add_digits(instance, INSTANCE_LEN);
	memcpy(ret, instance, INSTANCE_LEN);
	add_digits(ret + INSTANCE_LEN, ENGINE_SESSION_MAX - 1 - INSTANCE_LEN);
	if (!remember(ret))
		add_digits(ret, INSTANCE_LEN);
	pthread_mutex_unlock(&lock);
}

static size_t find(const char *name)
{
	size_t i = 0;

	while (i < count && strcmp(names[i], name) != 0)
		i++;
	return i;
}

void engine_ours_remove(const char *name)
{
	size_t i;

	pthread_mutex_lock(&lock);
	i = find(name);
	if (i < count)
		memcpy(names[i], names[--count], ENGINE_SESSION_MAX);
	pthread_mutex_unlock(&lock);
}

bool engine_ours_is_lost(const char *name)
{
	bool lost;

	pthread_mutex_lock(&lock);
	lost = strlen(name) == ENGINE_SESSION_MAX - 1 && instance[0] != '\0' &&
	       strncmp(name, instance, INSTANCE_LEN) == 0 && find(name) == count;
	pthread_mutex_unlock(&lock);
	return lost;
}
