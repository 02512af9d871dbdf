/* SPDX-License-Identifier: MIT */
#include "backend/engine/known.h"

#include "backend/engine/sets.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENGINES_MAX 16
#define LINES_MAX   4 /* that nobody uses, per engine */
#define SETS_MAX    16

struct entry {
	char *key; /* NULL: free */
	struct engine_known known;
	char sets[SETS_MAX][ENGINE_SETS_VOLUME_MAX]; /* "": free */
	size_t next_sets;
	struct engine_line *lines[LINES_MAX];
	size_t line_count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry entries[ENGINES_MAX];

/* A process that is forked off has none of the threads, one of which may have had the lock. */
static void start_anew_in_a_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	/* Connections are the parent's, which goes on using them: they are left alone. */
	memset(entries, 0, sizeof(entries));
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, start_anew_in_a_child);
}

static struct entry *find(const char *key)
{
	for (size_t i = 0; i < ENGINES_MAX; i++) {
		if (entries[i].key != NULL && strcmp(entries[i].key, key) == 0)
			return &entries[i];
	}
	return NULL;
}

/* NULL when there is no room: then nothing is remembered. */
static struct entry *find_or_add(const char *key)
{
	struct entry *e = find(key);

	for (size_t i = 0; e == NULL && i < ENGINES_MAX; i++) {
		if (entries[i].key != NULL)
			continue;
		entries[i].key = strdup(key);
		return entries[i].key != NULL ? &entries[i] : NULL;
	}
	return e;
}

struct engine_known engine_known_get(const char *key)
{
	struct engine_known known = {0};
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find(key);
	if (e != NULL)
		known = e->known;
	pthread_mutex_unlock(&lock);
	return known;
}

void engine_known_set(const char *key, const struct engine_flavor *flavor, const char *version)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find_or_add(key);
	if (e != NULL) {
		e->known.flavor = flavor;
		snprintf(e->known.version, sizeof(e->known.version), "%s", version);
		e->known.limits = 0;
		if (flavor == NULL) {
			e->known.agent_ns = 0;
			memset(e->sets, 0, sizeof(e->sets));
		}
	}
	pthread_mutex_unlock(&lock);
}

void engine_known_set_agent(const char *key, uint64_t now_ns)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find(key);
	if (e != NULL)
		e->known.agent_ns = now_ns;
	pthread_mutex_unlock(&lock);
}

static bool has_sets(const struct entry *e, const char *volume)
{
	for (size_t i = 0; i < SETS_MAX; i++) {
		if (strcmp(e->sets[i], volume) == 0)
			return true;
	}
	return false;
}

bool engine_known_has_sets(const char *key, const char *volume)
{
	const struct entry *e;
	bool has;

	pthread_mutex_lock(&lock);
	e = find(key);
	has = e != NULL && has_sets(e, volume);
	pthread_mutex_unlock(&lock);
	return has;
}

void engine_known_add_sets(const char *key, const char *volume)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find(key);
	if (e != NULL && !has_sets(e, volume)) {
		snprintf(e->sets[e->next_sets], sizeof(e->sets[0]), "%s", volume);
		e->next_sets = (e->next_sets + 1) % SETS_MAX;
	}
	pthread_mutex_unlock(&lock);
}

void engine_known_set_limits(const char *key, bool sets)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find(key);
	if (e != NULL)
		e->known.limits = sets ? 1 : -1;
	pthread_mutex_unlock(&lock);
}

bool engine_known_due(const char *key, uint64_t now_ns, uint64_t pause_ns)
{
	struct entry *e;
	bool due;

	pthread_mutex_lock(&lock);
	e = find(key);
	due = e != NULL && (e->known.swept_ns == 0 || now_ns - e->known.swept_ns >= pause_ns);
	if (due)
		e->known.swept_ns = now_ns;
	pthread_mutex_unlock(&lock);
	return due;
}

void engine_known_suspect(const char *key)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find(key);
	if (e != NULL)
		e->known.swept_ns = 0;
	pthread_mutex_unlock(&lock);
}

struct engine_line *engine_known_take(const char *key)
{
	struct engine_line *line = NULL;
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find(key);
	if (e != NULL && e->line_count > 0)
		line = e->lines[--e->line_count];
	pthread_mutex_unlock(&lock);
	return line;
}

bool engine_known_keep(const char *key, struct engine_line *line)
{
	struct entry *e;
	bool kept;

	pthread_mutex_lock(&lock);
	e = find(key);
	kept = e != NULL && e->line_count < LINES_MAX;
	if (kept)
		e->lines[e->line_count++] = line;
	pthread_mutex_unlock(&lock);
	return kept;
}
