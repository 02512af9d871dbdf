/* SPDX-License-Identifier: MIT */
/* runtime_configs: what a spec has itself is set there, and the rest is kept for the engine. */
#include <llmsandbox/container.h>

#include "backend/engine/runtime.h"
#include "backend/spec.h"
#include "base/auto.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CPU_PERIOD_US 100000

typedef int set_fn(struct sbx_spec *spec, const char *name, const json_t *value,
		   const json_t *all, struct sbx_error *err);

static int fail(const char *name, const char *wanted, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_INVALID, "runtime_configs: '%s' must be %s", name, wanted);
}

static int set_limit(struct sbx_spec *spec, const char *name, enum sbx_limit limit, uint64_t value,
		     struct sbx_error *err)
{
	int r = sbx_spec_set_limit(spec, limit, value, err);

	return r < 0 ? sbx_wrap(err, "runtime_configs: '%s'", name) : 0;
}

/* No limit of the container's: what tools are told of it is then what the machine has. */
static void set_unlimited(struct sbx_spec *spec, enum sbx_limit limit, uint64_t most)
{
	const struct sbx_limit_info *info = sbx_limit_describe(limit);

	spec->limits[limit] = most < info->most ? most : info->most;
	spec->container.unlimited |= 1u << limit;
}

static int set_memory(struct sbx_spec *spec, const char *name, const json_t *value,
		      const json_t *all, struct sbx_error *err)
{
	int64_t bytes;
	int r = engine_runtime_bytes(name, value, &bytes, err);

	(void)all;
	if (r < 0)
		return r;
	if (bytes > 0)
		return set_limit(spec, name, SBX_LIMIT_MEMORY_BYTES, (uint64_t)bytes, err);
	set_unlimited(spec, SBX_LIMIT_MEMORY_BYTES,
		      (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
	return 0;
}

static int set_processes(struct sbx_spec *spec, const char *name, const json_t *value,
			 const json_t *all, struct sbx_error *err)
{
	json_int_t count = json_integer_value(value);

	(void)all;
	if (!json_is_integer(value) || count < -1)
		return fail(name, "a number of processes, or -1 for no limit", err);
	if (count > 0)
		return set_limit(spec, name, SBX_LIMIT_PROCESSES, (uint64_t)count, err);
	set_unlimited(spec, SBX_LIMIT_PROCESSES, UINT64_MAX);
	return 0;
}

static int set_cpus(struct sbx_spec *spec, const char *name, const json_t *value, double one,
		    struct sbx_error *err)
{
	double cpus = json_number_value(value) / one;

	if (!json_is_number(value) || cpus > 1024)
		return fail(name, "a number", err);
	if (cpus > 0)
		return set_limit(spec, name, SBX_LIMIT_CPU_MILLI, (uint64_t)(cpus * 1000 + 0.5), err);
	set_unlimited(spec, SBX_LIMIT_CPU_MILLI, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000);
	return 0;
}

static int set_cpu_count(struct sbx_spec *spec, const char *name, const json_t *value,
			 const json_t *all, struct sbx_error *err)
{
	(void)all;
	return set_cpus(spec, name, value, 1, err);
}

static int set_nano_cpus(struct sbx_spec *spec, const char *name, const json_t *value,
			 const json_t *all, struct sbx_error *err)
{
	(void)all;
	return set_cpus(spec, name, value, 1e9, err);
}

/* The quota is of a period, which has a name of its own. */
static int set_cpu_quota(struct sbx_spec *spec, const char *name, const json_t *value,
			 const json_t *all, struct sbx_error *err)
{
	const json_t *period = json_object_get(all, "cpu_period");

	return set_cpus(spec, name, value, period ? json_number_value(period) : CPU_PERIOD_US, err);
}

static int check_cpu_period(struct sbx_spec *spec, const char *name, const json_t *value,
			    const json_t *all, struct sbx_error *err)
{
	json_int_t us = json_integer_value(value);

	(void)spec;
	if (!json_is_integer(value) || us < 1000 || us > 1000000)
		return fail(name, "microseconds from 1000 to 1000000", err);
	if (json_object_get(all, "cpu_quota") == NULL)
		return fail(name, "beside a cpu_quota", err);
	return 0;
}

/* "1000", "1000:1000", or a name that the image knows. */
static int set_user(struct sbx_spec *spec, const char *name, const json_t *value,
		    const json_t *all, struct sbx_error *err)
{
	auto_free char *text = json_is_integer(value)
				       ? NULL
				       : strdup(json_string_value(value) ?: "");
	unsigned int uid = 0, gid = 0;
	int end = -1, r;

	(void)all;
	if (json_is_integer(value) && asprintf(&text, "%" JSON_INTEGER_FORMAT, json_integer_value(value)) < 0)
		text = NULL;
	if (text == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the user");
	if (strcmp(text, "root") == 0 || strcmp(text, "root:root") == 0)
		strcpy(text, "0");
	if (isdigit((unsigned char)text[0]) &&
	    ((sscanf(text, "%9u%n", &uid, &end) == 1 && text[end] == '\0') ||
	     (sscanf(text, "%9u:%9u%n", &uid, &gid, &end) == 2 && text[end] == '\0'))) {
		r = sbx_spec_set_user(spec, uid, strchr(text, ':') ? gid : uid, err);
		free(spec->container.user);
		spec->container.user = NULL;
		return r < 0 ? sbx_wrap(err, "runtime_configs: '%s'", name) : 0;
	}
	if (!isalpha((unsigned char)text[0]) && text[0] != '_')
		return fail(name, "UID, UID:GID, or a name that the image's /etc/passwd has", err);
	if (strchr(text, ':') != NULL)
		return fail(name, "a name alone, without a group: the image's /etc/passwd has its group", err);
	free(spec->container.user);
	spec->container.user = take_ptr(text);
	return 0;
}

static int set_workdir(struct sbx_spec *spec, const char *name, const json_t *value,
		       const json_t *all, struct sbx_error *err)
{
	(void)all;
	if (!json_is_string(value))
		return fail(name, "a text", err);
	return sbx_spec_set_workdir(spec, json_string_value(value), err) < 0
		       ? sbx_wrap(err, "runtime_configs: '%s'", name)
		       : 0;
}

static int add_variables(struct sbx_spec *spec, const char *name, const json_t *value,
			 const json_t *all, struct sbx_error *err)
{
	json_t *list = NULL, *item;
	int r = engine_runtime_pairs(name, value, '=', &list, err);
	size_t i;

	(void)all;
	json_array_foreach(list, i, item) {
		r = r < 0 ? r : sbx_spec_add_env(spec, json_string_value(item), err);
	}
	json_decref(list);
	return r;
}

/* Those that cannot be taken back stand last. */
static const struct {
	const char *name;
	set_fn *set;
} rows[] = {
	{"mem_limit", set_memory},	 {"pids_limit", set_processes},
	{"cpu_count", set_cpu_count},	 {"cpu_period", check_cpu_period},
	{"cpu_quota", set_cpu_quota},	 {"cpus", set_cpu_count},
	{"nano_cpus", set_nano_cpus},	 {"user", set_user},
	{"working_dir", set_workdir},	 {"environment", add_variables},
};

/* All of them say how many CPUs there are; cpu_count, which engines pass over on Linux, gives way. */
static int check_cpus(const json_t *configs, struct sbx_error *err)
{
	static const char *const names[] = {"cpu_quota", "cpus", "nano_cpus"};
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const json_t *value = json_object_get(configs, names[i]);

		if (value == NULL || json_is_null(value))
			continue;
		if (first != NULL)
			return sbx_fail(err, SBX_E_INVALID,
					"runtime_configs: '%s' and '%s' both say how many CPUs there are; name "
					"one of them",
					first, names[i]);
		first = names[i];
	}
	return 0;
}

static int apply(struct sbx_spec *spec, const json_t *configs, json_t *rest, struct sbx_error *err)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const json_t *value = json_object_get(configs, rows[i].name);
		int r = value == NULL || json_is_null(value)
				? 0
				: rows[i].set(spec, rows[i].name, value, configs, err);

		if (r < 0)
			return r;
		json_object_del(rest, rows[i].name);
	}
	return 0;
}

/* What was kept before, and these. */
static json_t *merge(const struct sbx_spec *spec, const json_t *configs)
{
	json_t *merged = spec->container.runtime ? json_deep_copy(spec->container.runtime)
						 : json_object();

	if (merged != NULL && json_object_update(merged, (json_t *)configs) < 0) {
		json_decref(merged);
		merged = NULL;
	}
	return merged;
}

static int set_configs(struct sbx_spec *spec, const json_t *configs, struct sbx_error *err)
{
	uint64_t limits[SBX_LIMIT_COUNT];
	unsigned int unlimited = spec->container.unlimited;
	uint32_t uid = spec->uid, gid = spec->gid;
	json_t *merged;
	int r;

	if (!json_is_object(configs))
		return sbx_fail(err, SBX_E_INVALID, "runtime_configs must be a JSON object");
	merged = merge(spec, configs);
	if (merged == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep runtime_configs");
	memcpy(limits, spec->limits, sizeof(limits));
	r = engine_runtime_check(merged, err);
	if (r == 0)
		r = check_cpus(configs, err);
	if (r == 0)
		r = apply(spec, configs, merged, err);
	if (r < 0) {
		memcpy(spec->limits, limits, sizeof(limits));
		spec->container.unlimited = unlimited;
		spec->uid = uid;
		spec->gid = gid;
		json_decref(merged);
		return r;
	}
	json_decref(spec->container.runtime);
	spec->container.runtime = merged;
	return 0;
}

int sbx_spec_set_runtime_configs(struct sbx_spec *spec, const char *json, struct sbx_error *err)
{
	struct sbx_error lent;
	json_error_t where;
	json_t *configs = json_loads(json, JSON_REJECT_DUPLICATES, &where);
	int r;

	err = err ? err : &lent;
	if (configs == NULL)
		return sbx_fail(err, SBX_E_INVALID, "runtime_configs are no JSON: %.120s (line %d)",
				where.text, where.line);
	r = set_configs(spec, configs, err);
	json_decref(configs);
	return r;
}
