/* SPDX-License-Identifier: MIT */
#include "backend/engine/sweep.h"

#include "backend/engine/container.h"
#include "backend/engine/known.h"
#include "backend/engine/labels.h"
#include "backend/engine/leaving.h"
#include "backend/engine/sets.h"
#include "base/clock.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define PAUSE_NS    (300 * SBX_NS_PER_S)
#define REMOVED_MAX 100 /* at a time */
#define LISTS_MAX   10

/* {"label":["llm-sandbox.owner"]} */
#define LIST_PATH "/containers/json?all=1&filters=%7B%22label%22%3A%5B%22llm-sandbox.owner%22%5D%7D"

static bool is_left_behind(const struct engine_client *client, const json_t *entry)
{
	const char *state = json_string_value(json_object_get(entry, "State"));

	return engine_labels_are_left_behind(json_object_get(entry, "Labels"), state ? state : "",
					     engine_client_is_local(client));
}

/*
 * Labels pass into an image that somebody makes of a container, and from there into his own. What runs
 * in one of ours is the agent; lists of containers do not say that alike, so it is looked at.
 */
static bool is_ours(struct engine_client *client, const struct engine_container *container)
{
	struct engine_request request = {.method = "GET"};
	const char *program, *own = ENGINE_AGENT_FOLDER "/";
	struct sbx_error ignored;
	json_t *answer = NULL;
	char path[256];
	bool ours;

	snprintf(path, sizeof(path), "/containers/%s/json", container->id);
	request.path = path;
	if (engine_call(client, &request, &answer, &ignored) < 0)
		return false;
	program = json_string_value(json_object_get(answer, "Path"));
	ours = program != NULL && strncmp(program, own, strlen(own)) == 0;
	json_decref(answer);
	return ours;
}

/* Podman lists none where one vanishes while it does so, and others come and go all the time. */
static int list_ours(struct engine_client *client, json_t **ret, struct sbx_error *err)
{
	struct engine_request request = {.method = "GET", .path = LIST_PATH};
	int r = engine_call(client, &request, ret, err);

	for (int i = 1; i < LISTS_MAX && r < 0 && engine_status(client) >= 400; i++)
		r = engine_call(client, &request, ret, err);
	return r;
}

int engine_sweep(struct engine_client *client, struct sbx_error *err)
{
	struct engine_container container = {0};
	json_t *list = NULL, *entry;
	int removed = 0, r = list_ours(client, &list, err);
	struct sbx_error ignored;
	bool found = false;
	size_t i;

	if (r < 0)
		return r;
	/* One that the engine cannot remove now is left to the next time. */
	json_array_foreach(list, i, entry) {
		if (removed == REMOVED_MAX || !is_left_behind(client, entry))
			continue;
		/* A program that runs for a moment alone would never come to remove anything. */
		if (!found)
			engine_leaving_begin();
		found = true;
		if (engine_container_take_id(entry, &container) && is_ours(client, &container) &&
		    engine_container_remove(client, &container, &ignored) == 0)
			removed++;
	}
	if (found)
		engine_leaving_end();
	json_decref(list);
	return removed;
}

/* ---- the thread ---- */

static void *sweep_main(void *client)
{
	struct sbx_error ignored;

	engine_sweep(client, &ignored);
	engine_sets_sweep(client);
	engine_client_close(client);
	return NULL;
}

void engine_sweep_soon(const struct engine_client *client)
{
	struct engine_client *mine = NULL;
	struct sbx_error ignored;

	if (!engine_known_due(engine_client_key(client), sbx_now_ns(), PAUSE_NS) ||
	    engine_client_open_again(client, &mine, &ignored) < 0)
		return;
	if (sbx_thread_start_detached(sweep_main, mine) != 0)
		engine_client_close(mine);
}
