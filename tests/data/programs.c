/* SPDX-License-Identifier: MIT */
#include "data/programs.h"

#include "support/sandbox.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 2

bool programs_load(struct programs *p, const char *set, const char *file)
{
	const char *shared = getenv("SBX_SHARED");
	char path[PATH_MAX];
	char *line = NULL;
	size_t size = 0;
	FILE *f;

	if (shared == NULL)
		return false;
	snprintf(path, sizeof(path), "%s/data/%s/%s.jsonl", shared, set, file);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (getline(&line, &size, f) > 0) {
		assert_true(p->count < PROGRAMS_MAX);
		p->list[p->count] = json_loads(line, JSON_ALLOW_NUL, NULL);
		assert_non_null(p->list[p->count]);
		p->count++;
	}
	free(line);
	fclose(f);
	return true;
}

void programs_done(struct programs *p)
{
	for (size_t i = 0; i < p->count; i++)
		json_decref(p->list[i]);
	p->count = 0;
}

const char *program_text(const json_t *program, const char *key)
{
	const char *text = json_string_value(json_object_get(program, key));

	return text != NULL ? text : "";
}

struct queue {
	const struct programs *programs;
	size_t step;
	atomic_size_t next;
	atomic_bool stop;
	bool (*work)(const json_t *program, void *userdata);
	void *userdata;
};

static void *take_turns(void *userdata)
{
	struct queue *q = userdata;

	while (!atomic_load(&q->stop)) {
		size_t i = atomic_fetch_add(&q->next, q->step);

		if (i >= q->programs->count)
			break;
		if (!q->work(q->programs->list[i], q->userdata))
			atomic_store(&q->stop, true);
	}
	return NULL;
}

void programs_each(const struct programs *p, size_t step,
		   bool (*work)(const json_t *program, void *userdata), void *userdata)
{
	struct queue q = {.programs = p, .step = step, .work = work, .userdata = userdata};
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &q), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}
