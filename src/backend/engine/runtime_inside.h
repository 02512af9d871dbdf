/* SPDX-License-Identifier: MIT */
/*
 * A row of runtime_configs and the functions that apply one: runtime_places.c has those of what is seen
 * inside, runtime_values.c the others.
 */
#pragma once

#include "backend/engine/runtime.h"

#include <stdbool.h>

struct runtime_row;

/* What is described; flavor is NULL while nothing but the wishes is known. */
struct runtime_target {
	const struct engine_flavor *flavor;
	json_t *body, *host;
};

typedef int runtime_fn(const struct runtime_row *row, const json_t *value,
		       struct runtime_target *target, struct sbx_error *err);

struct runtime_row {
	const char *name;
	runtime_fn *apply;
	const char *key; /* of the API, in HostConfig or above it */
	bool in_host;
	bool of_spec;	    /* core applies it */
	bool docker_only;   /* see flavor.h's passes_over */
	int only;	    /* runtime_only(): 0 false, 1 true, -1 either */
	const char *members; /* what an object of it may have: an engine passes over what it does not know */
	const char *reason; /* why another value cannot be had */
};

/* "runtime_configs: 'name' must be wanted". */
int runtime_fail(const struct runtime_row *row, const char *wanted, struct sbx_error *err);

/* Put what was made for the row in its place; takes made, which may be NULL without memory. */
int runtime_put(const struct runtime_row *row, json_t *made, struct runtime_target *t,
		struct sbx_error *err);

/* runtime_fail(), having let go of what was made. */
int runtime_fail_made(const struct runtime_row *row, json_t *made, const char *wanted,
		      struct sbx_error *err);

/* A list of strings, none of them empty. */
bool runtime_is_texts(const json_t *value);

/*
 * A new object with the API's own names: "read_only" and "ReadOnly" are one. NULL when it is none, or
 * has what the row's members do not name.
 */
json_t *runtime_object_of(const struct runtime_row *row, const json_t *object, struct sbx_error *err);

/* The same of each of a list. wanted says what it must be where it is none. */
json_t *runtime_objects_of(const struct runtime_row *row, const json_t *list, const char *wanted,
			   struct sbx_error *err);

runtime_fn runtime_refuse, runtime_only, runtime_flag, runtime_number, runtime_text, runtime_bytes,
	runtime_list, runtime_map, runtime_objects, runtime_labels, runtime_hosts, runtime_devices,
	runtime_gpus, runtime_log, runtime_mounts, runtime_name, runtime_platform, runtime_ports,
	runtime_restart, runtime_security, runtime_tmpfs, runtime_ulimits, runtime_volumes,
	runtime_cap_add, runtime_cap_drop;
