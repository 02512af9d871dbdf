/* SPDX-License-Identifier: MIT */
/*
 * What users ask of an engine by the names that docker-py has for it ("mem_limit"), put into the
 * description of a container. Each name is a row: it is mapped, or refused with the reason; an unknown
 * one is refused with the known one that is most like it.
 *
 * Names whose matter a spec has itself (limits, user, work folder, environment) are core's to apply;
 * here they are known, and passed over.
 */
#pragma once

#include "backend/engine/flavor.h"
#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

/* Put wishes, an object or NULL, into body, which has a HostConfig with our own defaults. */
int engine_runtime_apply(const struct engine_flavor *flavor, const json_t *wishes, json_t *body,
			 struct sbx_error *err);

/* Whether all of it can be had, of any engine; core's part is not looked at. */
int engine_runtime_check(const json_t *wishes, struct sbx_error *err);

/* Bytes as docker-py takes them: 1048576, "512m", "1.5g", "64kb". */
int engine_runtime_bytes(const char *name, const json_t *value, int64_t *ret,
			 struct sbx_error *err);

/* Assignments "NAME=value" out of a list of them or an object; a list of strings, the caller's. */
int engine_runtime_pairs(const char *name, const json_t *value, char separator, json_t **ret,
			 struct sbx_error *err);
