/* SPDX-License-Identifier: MIT */
/*
 * One container with our agent as its first process: made, started, and gone when the agent ends.
 *
 * The agent comes from a volume of the engine, named by its contents, that is filled once and shown
 * read-only: a root that cannot be written, or has no shell, is no obstacle.
 */
#pragma once

#include "backend/engine/client.h"
#include "backend/spec.h"

#define ENGINE_ID_MAX 80

struct engine_container {
	char id[ENGINE_ID_MAX];
};

/* What to ask the engine for, as the JSON of its API: the caller's. NULL: err says why. */
json_t *engine_container_describe(const struct engine_flavor *flavor, const struct sbx_spec *spec,
				  struct sbx_error *err);

/* Make it; SBX_E_NOT_FOUND when there is no such image here. */
int engine_container_create(struct engine_client *client, const struct sbx_spec *spec,
			    struct engine_container *ret, struct sbx_error *err);

/* Start it; its stream must be attached before. */
int engine_container_start(struct engine_client *client, const struct engine_container *container,
			   struct sbx_error *err);

/* Its streams, from its first byte on. */
int engine_container_attach(struct engine_client *client, const struct engine_container *container,
			    struct engine_stream **ret, struct sbx_error *err);

/* Kill it if it runs, and remove it; no error when it is gone. */
int engine_container_remove(struct engine_client *client, const struct engine_container *container,
			    struct sbx_error *err);

/* ---- the agent's volume ---- */

#define ENGINE_AGENT_FOLDER "/.llm-sandbox"

/* The volume's name: "llm-sandbox-agent-" and the digest of what is in it. */
const char *engine_volume_name(void);

/* Make it with the agent in it, by way of a container of this image that is never started. */
int engine_volume_fill(struct engine_client *client, const char *image, struct sbx_error *err);
