/* SPDX-License-Identifier: MIT */
/*
 * The system calls of a whole container: what its runtime, the agent, and whoever executes something in
 * it may make. It is made of the table of the agent's own filter (agent/seccomp/table.h), which the
 * programs meet besides, so that there is nothing that the one has and the other forgot.
 *
 * Docker takes the text. Podman takes the path of a file on its machine (files.h); where it cannot
 * read ours it keeps the profile of its own.
 */
#pragma once

#include "backend/engine/client.h"

enum engine_profile {
	ENGINE_PROFILE_OURS,
	ENGINE_PROFILE_ENGINES, /* whatever the engine puts around every container */
	ENGINE_PROFILE_WISHED,	/* by runtime_configs, which may say that there is none */
};

struct engine_seccomp {
	enum engine_profile profile;
	const char *reason; /* why it is the engine's; static */
};

/* Whether it is said already what there is to be: a profile, or none, or privileges that have none. */
bool engine_seccomp_is_wished(const json_t *container);

/*
 * Add ours to what a container is made of, unless it was wished otherwise. A wished one that is text
 * becomes a file where the engine wants one; where that cannot be it is an error.
 */
int engine_seccomp_add(const struct engine_client *client, json_t *container, struct engine_seccomp *ret,
		       struct sbx_error *err);

/* Whether this is why it was refused: then the engine's own is taken, and the container is asked for again. */
bool engine_seccomp_give_up(json_t *container, struct engine_seccomp *seccomp, const struct sbx_error *err);
