/* SPDX-License-Identifier: MIT */
/*
 * The labels that every container of ours carries, so that people see whose it is, and a later process
 * whether its owner is still there.
 *
 *	llm-sandbox		what it is for: "session", "carrier" (of the agent's volume); the
 *				sweep knows no others. Volumes say "agent"
 *	llm-sandbox.owner	who made it (owner.h)
 *	llm-sandbox.started	when, in UTC: "2026-11-30T14:46:11Z"
 *	llm-sandbox.session	a name of its own (ours.h)
 *	llm-sandbox.filled	of the mark of the agent's volume: when that was filled, or seen to be in use
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define ENGINE_LABEL	     "llm-sandbox"
#define ENGINE_LABEL_OWNER   "llm-sandbox.owner"
#define ENGINE_LABEL_STARTED "llm-sandbox.started"
#define ENGINE_LABEL_SESSION "llm-sandbox.session"
#define ENGINE_LABEL_FILLED  "llm-sandbox.filled"

#define ENGINE_TIME_MAX 32

/* A JSON object, the caller's; session is a name of ours.h, or NULL: it has none yet. */
json_t *engine_labels(const char *purpose, const char *session);

/* This moment as a label says it; and how long ago such a time, or one that an engine gives, was: -1: it is none. */
const char *engine_labels_now(char ret[ENGINE_TIME_MAX]);
int64_t engine_labels_age_s(const char *time);

/*
 * Whether nobody misses a container with these labels in this state ("running", "created"): its owner is
 * gone, or is this process, which has lost it. Where the
 * engine may serve other machines too, and after a restart of this one, only a container that does not
 * run and is not new: machines that were copied from each other may bear the same name.
 */
bool engine_labels_are_left_behind(const json_t *labels, const char *state, bool local);
