/* SPDX-License-Identifier: MIT */
#include "backend/engine/runtime.h"

#include "backend/engine/runtime_inside.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define HOST(api_key, how)	.apply = how, .key = api_key, .in_host = true
#define TOP(api_key, how)	.apply = how, .key = api_key
#define OF_SPEC			.of_spec = true
#define REFUSED(why)		.apply = runtime_refuse, .reason = why
#define ONLY(what, why)		.apply = runtime_only, .only = what, .reason = why

/* Podman takes it and does without it, and says nothing. */
#define DOCKER_ONLY .docker_only = true

#define OF_WINDOWS "only containers of Windows have it"
#define ATTACHED   "the agent's streams are always attached"

static const struct runtime_row rows[] = {
	{"auto_remove", ONLY(1, "a sandbox's container is gone at its end; a commit keeps what is in it")},
	{"binds", REFUSED("it is called volumes")},
	{"blkio_weight", HOST("BlkioWeight", runtime_number)},
	{"blkio_weight_device", HOST("BlkioWeightDevice", runtime_objects), .members = "Path Weight"},
	{"cap_add", HOST("CapAdd", runtime_cap_add)},
	{"cap_drop", HOST("CapDrop", runtime_cap_drop)},
	{"cgroup_parent", HOST("CgroupParent", runtime_text)},
	{"cgroupns", HOST("CgroupnsMode", runtime_text), DOCKER_ONLY},
	{"command", REFUSED("the agent is the container's first process; give the session code or "
			    "commands to run")},
	{"cpu_count", OF_SPEC},
	{"cpu_percent", REFUSED(OF_WINDOWS)},
	{"cpu_period", OF_SPEC},
	{"cpu_quota", OF_SPEC},
	{"cpu_rt_period", HOST("CpuRealtimePeriod", runtime_number)},
	{"cpu_rt_runtime", HOST("CpuRealtimeRuntime", runtime_number)},
	{"cpu_shares", HOST("CpuShares", runtime_number)},
	{"cpus", OF_SPEC},
	{"cpuset_cpus", HOST("CpusetCpus", runtime_text)},
	{"cpuset_mems", HOST("CpusetMems", runtime_text)},
	{"detach", ONLY(1, "a session talks to its container as long as it lives")},
	{"device_cgroup_rules", HOST("DeviceCgroupRules", runtime_list), DOCKER_ONLY},
	{"device_read_bps", HOST("BlkioDeviceReadBps", runtime_objects), .members = "Path Rate"},
	{"device_read_iops", HOST("BlkioDeviceReadIOps", runtime_objects), .members = "Path Rate"},
	{"device_requests", HOST("DeviceRequests", runtime_objects), .members = "Driver Count DeviceIDs Capabilities Options", DOCKER_ONLY},
	{"device_write_bps", HOST("BlkioDeviceWriteBps", runtime_objects), .members = "Path Rate"},
	{"device_write_iops", HOST("BlkioDeviceWriteIOps", runtime_objects), .members = "Path Rate"},
	{"devices", HOST("Devices", runtime_devices), .members = "PathOnHost PathInContainer CgroupPermissions"},
	{"dns", HOST("Dns", runtime_list)},
	{"dns_opt", HOST("DnsOptions", runtime_list)},
	{"dns_search", HOST("DnsSearch", runtime_list)},
	{"domainname", TOP("Domainname", runtime_text), DOCKER_ONLY},
	{"entrypoint", REFUSED("the agent is the container's first process; give the session code or "
			       "commands to run")},
	{"environment", OF_SPEC},
	{"extra_hosts", HOST("ExtraHosts", runtime_hosts)},
	{"gpus", HOST("DeviceRequests", runtime_gpus), DOCKER_ONLY},
	{"group_add", REFUSED("programs have the one group that 'user' names, UID:GID")},
	{"healthcheck", REFUSED("nothing runs beside what the session runs")},
	{"host_config", REFUSED("what is in one has names of its own here: mem_limit, network_mode and so on")},
	{"hostname", TOP("Hostname", runtime_text)},
	{"image", REFUSED("the image has an option of its own (--image)")},
	{"init", ONLY(-1, "the agent is the init already")},
	{"init_path", REFUSED("the agent is the init already")},
	{"ipc_mode", HOST("IpcMode", runtime_text)},
	{"isolation", REFUSED(OF_WINDOWS)},
	{"kernel_memory", REFUSED("engines and kernels no longer have it; mem_limit counts it too")},
	{"labels", TOP("Labels", runtime_labels)},
	{"links", REFUSED("engines have given it up; name a network_mode that both containers share")},
	{"log_config", HOST("LogConfig", runtime_log), .members = "Type Config"},
	{"lxc_conf", REFUSED("engines no longer have it")},
	{"mac_address", TOP("MacAddress", runtime_text), DOCKER_ONLY},
	{"mem_limit", OF_SPEC},
	{"mem_reservation", HOST("MemoryReservation", runtime_bytes)},
	{"mem_swappiness", HOST("MemorySwappiness", runtime_number)},
	{"memory", REFUSED("it is called mem_limit")},
	{"memswap_limit", HOST("MemorySwap", runtime_bytes)},
	{"mounts", HOST("Mounts", runtime_mounts),
	 .members = "Type Source Target ReadOnly Consistency BindOptions VolumeOptions TmpfsOptions "
		    "DriverConfig Labels NoCopy Propagation Subpath TmpfsMode TmpfsSize"},
	{"name", .apply = runtime_name},
	{"nano_cpus", OF_SPEC},
	{"network", HOST("NetworkMode", runtime_text)},
	{"network_disabled", ONLY(1, "name the network in network_mode")},
	{"network_mode", HOST("NetworkMode", runtime_text)},
	{"networking_config", REFUSED("one network can be had, by network_mode")},
	{"networks", REFUSED("one network can be had, by network_mode")},
	{"oom_kill_disable", HOST("OomKillDisable", runtime_flag)},
	{"oom_score_adj", HOST("OomScoreAdj", runtime_number)},
	{"pid_mode", HOST("PidMode", runtime_text)},
	{"pids_limit", OF_SPEC},
	{"platform", .apply = runtime_platform},
	{"port_bindings", REFUSED("it is called ports")},
	{"ports", HOST("PortBindings", runtime_ports)},
	{"privileged", HOST("Privileged", runtime_flag)},
	{"publish_all_ports", HOST("PublishAllPorts", runtime_flag), DOCKER_ONLY},
	{"read_only", HOST("ReadonlyRootfs", runtime_flag)},
	{"remove", ONLY(1, "a sandbox's container is gone at its end; a commit keeps what is in it")},
	{"restart_policy", .apply = runtime_restart, .members = "Name MaximumRetryCount",
	 .reason = "a sandbox that has ended is not started again"},
	{"runtime", HOST("Runtime", runtime_text), DOCKER_ONLY},
	{"secrets", REFUSED("give them as environment, or as files of the session")},
	{"security_opt", HOST("SecurityOpt", runtime_security)},
	{"shm_size", HOST("ShmSize", runtime_bytes)},
	{"stderr", ONLY(1, ATTACHED)},
	{"stdin_open", ONLY(1, ATTACHED)},
	{"stdout", ONLY(1, ATTACHED)},
	{"stop_signal", REFUSED("a sandbox ends with its agent, which no signal asks")},
	{"stop_timeout", REFUSED("a sandbox ends at once")},
	{"storage_opt", HOST("StorageOpt", runtime_map)},
	{"stream", ONLY(1, ATTACHED)},
	{"sysctls", HOST("Sysctls", runtime_map)},
	{"timeout", REFUSED("it is no matter of containers; the limit 'timeout' is (--timeout)")},
	{"tmpfs", HOST("Tmpfs", runtime_tmpfs)},
	{"tty", ONLY(0, "the agent's stream is no terminal's")},
	{"ulimits", HOST("Ulimits", runtime_ulimits), .members = "Name Soft Hard"},
	{"use_config_proxy", ONLY(0, "the proxy's variables are those of the sandbox's own proxy")},
	{"user", OF_SPEC},
	{"userns_mode", HOST("UsernsMode", runtime_text)},
	{"uts_mode", HOST("UTSMode", runtime_text)},
	{"version", REFUSED("the API's version is negotiated with the engine")},
	{"volume_driver", REFUSED("it would be that of the agent's own volume too; a mount has a driver_config")},
	{"volumes", HOST("Binds", runtime_volumes)},
	{"volumes_from", HOST("VolumesFrom", runtime_list)},
	{"workdir", REFUSED("it is called working_dir")},
	{"working_dir", OF_SPEC},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* ---- names ---- */

/* How many letters must change to make one of the other (Levenshtein), for names. */
static size_t distance(const char *a, const char *b)
{
	size_t row[64], len = strlen(b);

	if (len >= 64)
		return 64;
	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 0; a[i] != '\0'; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < len; j++) {
			size_t change = corner + (a[i] != b[j]);
			size_t least = row[j] < row[j + 1] ? row[j] + 1 : row[j + 1] + 1;

			corner = row[j + 1];
			row[j + 1] = change < least ? change : least;
		}
	}
	return row[len];
}

static const struct runtime_row *find_closest(const char *name)
{
	const struct runtime_row *closest = &rows[0];

	for (size_t i = 1; i < ROWS; i++) {
		if (distance(name, rows[i].name) < distance(name, closest->name))
			closest = &rows[i];
	}
	return closest;
}

static const struct runtime_row *find_row(const char *name, struct sbx_error *err)
{
	const struct runtime_row *closest;

	for (size_t i = 0; i < ROWS; i++) {
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	}
	closest = find_closest(name);
	sbx_fail(err, SBX_E_INVALID, "runtime_configs: there is no '%.64s'; did you mean '%s'?", name,
		 closest->name);
	return NULL;
}

int runtime_fail(const struct runtime_row *row, const char *wanted, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_INVALID, "runtime_configs: '%s' must be %s", row->name, wanted);
}

/* ---- the whole ---- */

static bool is_wished(const json_t *wishes, const char *name)
{
	const json_t *value = json_object_get(wishes, name);

	return value != NULL && !json_is_null(value);
}

static bool is_heeded(const struct runtime_row *row, const json_t *value,
		      const struct engine_flavor *flavor)
{
	return !row->docker_only || flavor == NULL || !flavor->passes_over || json_is_false(value);
}

static int fail_unheeded(const struct runtime_row *row, const struct engine_flavor *flavor,
			 struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_INVALID,
			"runtime_configs: '%s' cannot be set: %s does without it, and does not say so; leave "
			"it out, or choose the backend docker",
			row->name, flavor->title);
}

int engine_runtime_apply(const struct engine_flavor *flavor, const json_t *wishes, json_t *body,
			 struct sbx_error *err)
{
	struct runtime_target target = {
		.flavor = flavor, .body = body, .host = json_object_get(body, "HostConfig")};
	const char *name;
	json_t *value;
	int r;

	/* jansson has no iteration of constants. */
	json_object_foreach((json_t *)wishes, name, value) {
		const struct runtime_row *row = find_row(name, err);

		if (row == NULL)
			return -(int)err->code;
		/* docker-py takes None for what is not wished. */
		if (row->of_spec || json_is_null(value))
			continue;
		r = is_heeded(row, value, flavor) ? row->apply(row, value, &target, err)
						  : fail_unheeded(row, flavor, err);
		if (r < 0)
			return r;
	}
	if (is_wished(wishes, "network") && is_wished(wishes, "network_mode"))
		return sbx_fail(err, SBX_E_INVALID,
				"runtime_configs: 'network' and 'network_mode' are one; name one of them");
	if (json_object_get(target.host, "PortBindings") != NULL &&
	    strcmp(json_string_value(json_object_get(target.host, "NetworkMode")) ?: "none", "none") == 0)
		return sbx_fail(err, SBX_E_INVALID,
				"runtime_configs: 'ports' need a network; name one in network_mode");
	return 0;
}

int engine_runtime_check(const json_t *wishes, struct sbx_error *err)
{
	json_t *scratch;
	int r;

	if (!json_is_object(wishes))
		return sbx_fail(err, SBX_E_INVALID, "runtime_configs must be a JSON object");
	scratch = json_pack("{s:{}}", "HostConfig");
	/* Where a port needs a network the rest of the wishes may come later. */
	r = scratch ? engine_runtime_apply(NULL, wishes, scratch, err)
		    : sbx_fail_errno(err, ENOMEM, "cannot check runtime_configs");
	json_decref(scratch);
	return r;
}

/* ---- values that core needs too ---- */

static bool find_factor(const char *suffix, double *ret)
{
	static const char units[] = "bkmgt";
	const char *unit;

	*ret = 1;
	if (suffix[0] == '\0')
		return true;
	unit = strchr(units, tolower((unsigned char)suffix[0]));
	if (unit == NULL || (suffix[1] != '\0' && (tolower((unsigned char)suffix[1]) != 'b' ||
						   suffix[2] != '\0')))
		return false;
	for (const char *u = units; u < unit; u++)
		*ret *= 1024;
	return true;
}

int engine_runtime_bytes(const char *name, const json_t *value, int64_t *ret, struct sbx_error *err)
{
	const char *text = json_string_value(value);
	double number, factor;
	char *end;

	if (json_is_integer(value) && json_integer_value(value) >= -1) {
		*ret = json_integer_value(value);
		return 0;
	}
	if (text != NULL && isdigit((unsigned char)text[0])) {
		number = strtod(text, &end);
		if (find_factor(end, &factor) && number * factor < 9e18) {
			*ret = (int64_t)(number * factor);
			return 0;
		}
	}
	return sbx_fail(err, SBX_E_INVALID,
			"runtime_configs: '%s' must be a number of bytes, or a text like \"512m\" with "
			"b, k, m, g or t",
			name);
}

static json_t *pair_of(const char *key, const json_t *value, char separator)
{
	if (json_is_string(value))
		return json_sprintf("%s%c%s", key, separator, json_string_value(value));
	if (json_is_integer(value))
		return json_sprintf("%s%c%" JSON_INTEGER_FORMAT, key, separator,
				    json_integer_value(value));
	if (json_is_boolean(value))
		return json_sprintf("%s%c%s", key, separator, json_is_true(value) ? "true" : "false");
	return json_is_null(value) ? json_sprintf("%s%c", key, separator) : NULL;
}

int engine_runtime_pairs(const char *name, const json_t *value, char separator, json_t **ret,
			 struct sbx_error *err)
{
	json_t *list = json_array(), *item;
	bool fine = json_is_object(value) || json_is_array(value);
	const char *key;
	size_t i;

	if (json_is_object(value)) {
		json_object_foreach((json_t *)value, key, item)
			fine = json_array_append_new(list, pair_of(key, item, separator)) == 0 && fine;
	}
	json_array_foreach(value, i, item) {
		const char *text = json_string_value(item);

		fine = text != NULL && strchr(text, separator) != NULL && text[0] != separator &&
		       json_array_append(list, item) == 0 && fine;
	}
	if (!fine) {
		json_decref(list);
		return sbx_fail(err, SBX_E_INVALID,
				"runtime_configs: '%s' must be an object of texts, or a list of texts with "
				"'%c' in them",
				name, separator);
	}
	*ret = list;
	return 0;
}
