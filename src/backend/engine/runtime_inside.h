/* SPDX-License-Identifier: MIT */
/* A row of runtime_configs and the functions that apply one, for runtime.c and runtime_values.c. */
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
	int only;	    /* runtime_only(): 0 false, 1 true, -1 either */
	const char *reason; /* why another value cannot be had */
};

/* "runtime_configs: 'name' must be wanted". */
int runtime_fail(const struct runtime_row *row, const char *wanted, struct sbx_error *err);

runtime_fn runtime_refuse, runtime_only, runtime_flag, runtime_number, runtime_text, runtime_bytes,
	runtime_list, runtime_map, runtime_objects, runtime_labels, runtime_hosts, runtime_devices,
	runtime_gpus, runtime_log, runtime_mounts, runtime_name, runtime_platform, runtime_ports,
	runtime_restart, runtime_security, runtime_tmpfs, runtime_ulimits, runtime_volumes,
	runtime_cap_add, runtime_cap_drop;
