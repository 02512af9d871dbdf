/* SPDX-License-Identifier: MIT */
#include "backend/engine/sweep.h"

#include "backend/engine/container.h"
#include "backend/engine/known.h"
#include "backend/engine/labels.h"
#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PAUSE_NS    (300 * SBX_NS_PER_S)
#define REMOVED_MAX 100 /* at a time */

/* {"label":["llm-sandbox.owner"]} */
#define LIST_PATH "/containers/json?all=1&filters=%7B%22label%22%3A%5B%22llm-sandbox.owner%22%5D%7D"

/* Its id, or false: what an engine says becomes a part of a path. */
static bool name_container(const json_t *entry, struct engine_container *ret)
{
	const char *id = json_string_value(json_object_get(entry, "Id"));

	return id != NULL && id[0] != '\0' && strspn(id, "0123456789abcdef") == strlen(id) &&
	       snprintf(ret->id, sizeof(ret->id), "%s", id) < (int)sizeof(ret->id);
}

static bool is_left_behind(const struct engine_client *client, const json_t *entry)
{
	const char *state = json_string_value(json_object_get(entry, "State"));

	return engine_labels_are_left_behind(json_object_get(entry, "Labels"), state ? state : "",
					     engine_client_is_local(client));
}

int engine_sweep(struct engine_client *client, struct sbx_error *err)
{
	struct engine_request request = {.method = "GET", .path = LIST_PATH};
	struct engine_container container;
	json_t *list = NULL, *entry;
	int removed = 0, r = engine_call(client, &request, &list, err);
	size_t i;

	json_array_foreach(list, i, entry) {
		if (r < 0 || removed >= REMOVED_MAX)
			break;
		if (!is_left_behind(client, entry) || !name_container(entry, &container))
			continue;
		r = engine_container_remove(client, &container, err);
		removed += r == 0;
	}
	json_decref(list);
	return r < 0 ? r : removed;
}

/* ---- the thread ---- */

static void *sweep_main(void *client)
{
	struct sbx_error ignored;

	engine_sweep(client, &ignored);
	engine_client_close(client);
	return NULL;
}

void engine_sweep_soon(const struct engine_client *client)
{
	struct engine_client *mine = NULL;
	struct sbx_error ignored;
	sigset_t all, before;
	pthread_t thread;
	int r;

	if (!engine_known_due(engine_client_key(client), sbx_now_ns(), PAUSE_NS) ||
	    engine_client_open_again(client, &mine, &ignored) < 0)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, NULL, sweep_main, mine);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r != 0)
		engine_client_close(mine);
	else
		pthread_detach(thread);
}
