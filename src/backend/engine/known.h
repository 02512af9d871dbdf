/* SPDX-License-Identifier: MIT */
/*
 * What this process has learned of the engines that it speaks to, and connections to them that nobody
 * uses at the moment: bounded, for any thread, and not passed on to a process that is forked off.
 * It spares a connection and a question for every sandbox.
 */
#pragma once

#include "backend/engine/flavor.h"

#include <stdbool.h>
#include <stdint.h>

struct engine_line; /* a connection; client_inside.h */

struct engine_known {
	const struct engine_flavor *flavor; /* as it says itself; NULL: never heard of */
	char version[16];		    /* "1.41" */
	uint64_t agent_ns;		    /* when its volume with the agent was seen last; 0: never */
	int limits;			    /* 1: sets those of containers, -1: does not, 0: was not asked */
	uint64_t swept_ns;		    /* when what was left behind was looked for last */
};

/* What is known of the engine with this key; all zero when nothing is. */
struct engine_known engine_known_get(const char *key);

/* Note its version and what it is, or with a NULL flavor forget all of it. */
void engine_known_set(const char *key, const struct engine_flavor *flavor, const char *version);

/* Note that its volume is there, or (0) that it may not be. */
void engine_known_set_agent(const char *key, uint64_t now_ns);

/* Note that an image's volume of libraries is there, and whether that was noted; the oldest are forgotten. */
void engine_known_add_sets(const char *key, const char *volume);
bool engine_known_has_sets(const char *key, const char *volume);

/* Note whether it sets the limits of containers. */
void engine_known_set_limits(const char *key, bool sets);

/* Whether to look for what was left behind: true once, then false until so long has passed. */
bool engine_known_due(const char *key, uint64_t now_ns, uint64_t pause_ns);

/* Something of ours may have been lost there: it is looked for at the next opportunity. */
void engine_known_suspect(const char *key);

/* A connection that nobody uses, or NULL; and to give one back: false when there is no room. */
struct engine_line *engine_known_take(const char *key);
bool engine_known_keep(const char *key, struct engine_line *line);
