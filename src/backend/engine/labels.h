/* SPDX-License-Identifier: MIT */
/*
 * The labels that every container of ours carries, so that people see whose it is, and a later process
 * whether its owner is still there.
 *
 *	llm-sandbox		what it is for: "session", "carrier" (of the agent's volume); the
 *				sweep knows no others
 *	llm-sandbox.owner	who made it (owner.h)
 *	llm-sandbox.started	when, in UTC: "2026-11-30T14:46:11Z"
 *	llm-sandbox.session	a name of its own, for sessions
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define ENGINE_LABEL	     "llm-sandbox"
#define ENGINE_LABEL_OWNER   "llm-sandbox.owner"
#define ENGINE_LABEL_STARTED "llm-sandbox.started"
#define ENGINE_LABEL_SESSION "llm-sandbox.session"

/* A JSON object, the caller's; session may be NULL: a name is made. */
json_t *engine_labels(const char *purpose, const char *session);

/*
 * Whether nobody misses a container with these labels in this state ("running", "created"). Where the
 * engine may serve other machines too, and after a restart of this one, only a container that does not
 * run and is not new: machines that were copied from each other may bear the same name.
 */
bool engine_labels_are_left_behind(const json_t *labels, const char *state, bool local);
