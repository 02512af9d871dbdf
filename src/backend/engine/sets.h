/* SPDX-License-Identifier: MIT */
/*
 * Volumes of library sets: one for each image, as what an image's tool chain has installed is of no
 * use to another. All containers of the image that may want libraries show it read-only from their start,
 * because none can be added to a container that runs: a set that is made later is seen at once. What is in
 * it is core's; it is written by a container that shows it writable and runs nothing but the agent.
 *
 *	llm-sandbox		"libraries": a label
 *	llm-sandbox.image	whose they are: "sha256:…"; the sweep knows them by this and by their names
 */
#pragma once

#include "backend/backend.h"
#include "backend/engine/client.h"

#define ENGINE_SETS_MOUNT "/opt/llm-sandbox/libraries"

/* The volume's own folder can be listed, this one in it cannot: it is made with the first set. */
#define ENGINE_SETS_FOLDER ENGINE_SETS_MOUNT "/sets"

#define ENGINE_SETS_VOLUME_MAX 128

/* The volume of an image; false when this is no id of one. */
bool engine_sets_name(const char *image_id, char ret[ENGINE_SETS_VOLUME_MAX]);

/* Make it, unless it is there, or was so for another sandbox of this process: that costs no call. */
int engine_sets_make(struct engine_client *client, const char *image_id, struct sbx_error *err);

/* Remove it; no error when it is not there. One that a container has stays: SBX_E_UNAVAILABLE. */
int engine_sets_remove(struct engine_client *client, const char *image_id, struct sbx_error *err);

/* Remove those whose image is gone. Nobody hears of a failure. */
void engine_sets_sweep(struct engine_client *client);

/* Whether a container that was described so shows this volume. */
bool engine_sets_are_shown(const json_t *asked, const char *volume);

extern const struct sbx_backend_sets engine_sets_docker, engine_sets_podman;
