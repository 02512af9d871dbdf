/* SPDX-License-Identifier: MIT */
/*
 * What isolates a container: what was asked for, less what was wished away, less what the engine said
 * that it discards when it made it. Nothing more is asked of the engine, which would make every start
 * slower, but whether it sets limits at all, once, where that may not be so.
 */
#include "backend/engine/container.h"

#include "backend/engine/client_inside.h"
#include "backend/engine/known.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const json_t *host_of(const json_t *container)
{
	return json_object_get(container, "HostConfig");
}

static const char *text_of(const json_t *host, const char *key)
{
	return json_string_value(json_object_get(host, key)) ?: "";
}

static bool flag_of(const json_t *host, const char *key)
{
	return json_is_true(json_object_get(host, key));
}

static bool has_option(const json_t *host, const char *text)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(host, "SecurityOpt"), i, item) {
		if (strncmp(json_string_value(item) ?: "", text, strlen(text)) == 0)
			return true;
	}
	return false;
}

/* More than the agent needs, or the engine's own. */
static bool has_capabilities(const json_t *host)
{
	return json_array_size(json_object_get(host, "CapAdd")) > 5 ||
	       json_array_size(json_object_get(host, "CapDrop")) == 0;
}

/* ---- fences ---- */

uint32_t engine_fences(const struct engine_container *container)
{
	const json_t *host = host_of(container->asked);
	uint32_t fences = (1u << WIRE_FENCE_COUNT) - 1;

	if (container->asked == NULL)
		return fences;
	if (has_capabilities(host) || flag_of(host, "Privileged"))
		fences &= ~(1u << WIRE_FENCE_CAPABILITIES);
	if (has_option(host, "seccomp=unconfined") || flag_of(host, "Privileged"))
		fences &= ~(1u << WIRE_FENCE_SECCOMP);
	/* Without the first the kernel takes neither of the others from who is no administrator. */
	if (!has_option(host, "no-new-privileges") || flag_of(host, "Privileged"))
		fences &= ~(1u << WIRE_FENCE_NO_NEW_PRIVS | 1u << WIRE_FENCE_SECCOMP |
			    1u << WIRE_FENCE_LANDLOCK);
	return fences;
}

/* ---- where programs may write ---- */

struct places {
	char **list;
	size_t max, *count;
	bool failed;
};

static void add_place(struct places *p, const char *path)
{
	if (*p->count == p->max || path == NULL) {
		p->failed = true;
		return;
	}
	p->list[*p->count] = strdup(path);
	p->failed = p->failed || p->list[*p->count] == NULL;
	*p->count += p->list[*p->count] != NULL;
}

/* "source:place:mode,mode" without "ro" among the modes. */
static void add_bind(struct places *p, const char *bind)
{
	const char *place = bind ? strchr(bind, ':') : NULL;
	const char *modes = place ? strchr(place + 1, ':') : NULL;
	char path[4096];

	if (place == NULL || (modes != NULL && (strncmp(modes, ":ro", 3) == 0 || strstr(modes, ",ro") != NULL)))
		return;
	snprintf(path, sizeof(path), "%.*s", modes ? (int)(modes - place - 1) : 4095, place + 1);
	add_place(p, path);
}

static void add_asked(struct places *p, const json_t *host)
{
	const char *key;
	json_t *item;
	size_t i;

	json_object_foreach(json_object_get(host, "Tmpfs"), key, item)
		add_place(p, key);
	json_array_foreach(json_object_get(host, "Binds"), i, item)
		add_bind(p, json_string_value(item));
	json_array_foreach(json_object_get(host, "Mounts"), i, item) {
		if (!flag_of(item, "ReadOnly"))
			add_place(p, text_of(item, "Target"));
	}
}

/* Where the root can be written files have modes, and Landlock none of its own to add. */
int engine_writable(const struct engine_container *container, const struct sbx_spec *spec,
		    char **ret, size_t max, size_t *ret_count, struct sbx_error *err)
{
	const json_t *host = host_of(container->asked);
	struct places p = {.list = ret, .max = max, .count = ret_count};
	const char *key;
	json_t *item;

	*ret_count = 0;
	add_place(&p, spec->workdir);
	if (container->asked != NULL) {
		add_asked(&p, host);
		json_object_foreach(json_object_get(container->asked, "Volumes"), key, item)
			add_place(&p, key);
		add_place(&p, "/dev/shm");
	}
	if (container->asked == NULL || !flag_of(host, "ReadonlyRootfs"))
		add_place(&p, "/");
	return p.failed ? sbx_fail(err, SBX_E_LIMIT, "more than %zu places that can be written", max) : 0;
}

/* ---- the report ---- */

static void report_root(const json_t *host, struct sbx_report *report)
{
	if (flag_of(host, "ReadonlyRootfs"))
		sbx_report_add(report, "root file system", SBX_ENFORCED, "read-only, the image's");
	else
		sbx_report_add(report, "root file system", SBX_OFF,
			       "can be written, by read_only of runtime_configs or for a commit");
}

static void report_network(const json_t *host, struct sbx_report *report)
{
	const char *mode = text_of(host, "NetworkMode");

	if (strcmp(mode, "none") == 0)
		sbx_report_add(report, "network", SBX_ENFORCED, "none but the sandbox's own loopback");
	else
		sbx_report_add(report, "network", SBX_OFF, "'%.60s', by network_mode of runtime_configs",
			       mode);
}

/* Each engine says it in its own way. */
static bool is_rootless(const json_t *info)
{
	json_t *item;
	size_t i;

	if (json_is_true(json_object_get(info, "Rootless")))
		return true;
	json_array_foreach(json_object_get(info, "SecurityOptions"), i, item) {
		if (strstr(json_string_value(item) ?: "", "rootless") != NULL)
			return true;
	}
	return false;
}

/*
 * Engines of an ordinary user have no groups with version 1 of cgroups, and do not say so when they make
 * a container. One whose socket is root's is root's, and need not be asked.
 */
static bool ask_for_limits(struct engine_client *client)
{
	const char *socket = client->endpoint.socket_path;
	struct sbx_error ignored;
	json_t *info = NULL;
	struct stat st;
	bool has_groups;

	if (socket != NULL && stat(socket, &st) == 0 && st.st_uid == 0)
		return true;
	if (engine_call(client, &(struct engine_request){.method = "GET", .path = "/info"}, &info,
			&ignored) < 0)
		return false;
	has_groups = strcmp(text_of(info, "CgroupDriver"), "none") != 0 &&
		     !(is_rootless(info) && strcmp(text_of(info, "CgroupVersion"), "1") == 0);
	json_decref(info);
	return has_groups;
}

bool engine_sets_limits(struct engine_client *client)
{
	const char *key = engine_client_key(client);
	int known = engine_known_get(key).limits;

	if (known == 0) {
		known = ask_for_limits(client) ? 1 : -1;
		engine_known_set_limits(key, known > 0);
	}
	return known > 0;
}

struct limit_row {
	const char *name, *key, *unit;
	const char *warning; /* what the engine calls it when it cannot have it */
	double scale;
};

static void report_limit(const struct engine_client *client, const struct engine_container *container,
			 const struct limit_row *row, struct sbx_report *report)
{
	const json_t *host = host_of(container->asked);
	double asked = json_number_value(json_object_get(host, row->key));
	const char *warning = container->warnings ? strcasestr(container->warnings, row->warning) : NULL;

	if (asked <= 0)
		sbx_report_add(report, row->name, SBX_OFF, "none, by runtime_configs");
	else if (container->passes_limits_by)
		sbx_report_add(report, row->name, SBX_MISSING,
			       "%s of an ordinary user has no limits with version 1 of cgroups",
			       engine_client_flavor(client)->title);
	else if (warning != NULL && strcasestr(warning, "discarded") != NULL)
		sbx_report_add(report, row->name, SBX_MISSING, "the engine says: %s", container->warnings);
	else
		sbx_report_add(report, row->name, SBX_ENFORCED, "%.6g %s", asked / row->scale, row->unit);
}

static void report_limits(const struct engine_client *client, const struct engine_container *container,
			  struct sbx_report *report)
{
	static const struct limit_row limits[] = {
		{"memory limit", "Memory", "MiB, no swap", "memory limit", 1048576},
		{"process limit", "PidsLimit", "processes, with the agent's", "pids limit", 1},
		{"cpu limit", "NanoCpus", "CPUs", "cpu", 1e9},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		report_limit(client, container, &limits[i], report);
}

/* Folders in memory have a size; what is in the root, or in a volume, is the engine's disk. */
static void report_disk(const json_t *asked, struct sbx_report *report)
{
	bool in_root = !flag_of(host_of(asked), "ReadonlyRootfs");

	if (in_root || json_object_size(json_object_get(asked, "Volumes")) > 0)
		sbx_report_add(report, "disk limit", SBX_OFF, "files are on the engine's disk, %s",
			       in_root ? "in a root that can be written" : "in a volume");
	else
		sbx_report_add(report, "disk limit", SBX_ENFORCED, "of each of the folders in memory");
}

static void report_privileges(const json_t *host, struct sbx_report *report)
{
	if (flag_of(host, "Privileged"))
		sbx_report_add(report, "container privileges", SBX_OFF, "all, by privileged of runtime_configs");
	else if (has_capabilities(host))
		sbx_report_add(report, "container privileges", SBX_OFF,
			       "more than the agent needs, by cap_add or cap_drop of runtime_configs");
	else
		sbx_report_add(report, "container privileges", SBX_ENFORCED,
			       "what the agent needs until it drops them");
	if (has_option(host, "seccomp=unconfined") || flag_of(host, "Privileged"))
		sbx_report_add(report, "container seccomp", SBX_OFF, "by runtime_configs");
	else
		sbx_report_add(report, "container seccomp", SBX_ENFORCED, "%s",
			       has_option(host, "seccomp=") ? "the profile of runtime_configs"
							    : "the engine's own, around the agent");
}

/* Namespaces that are somebody else's, and devices. */
static void report_shared(const json_t *host, struct sbx_report *report)
{
	static const char *const modes[][2] = {
		{"PidMode", "pid_mode"},       {"IpcMode", "ipc_mode"},	  {"UTSMode", "uts_mode"},
		{"UsernsMode", "userns_mode"}, {"CgroupnsMode", "cgroupns"},
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		const char *mode = text_of(host, modes[i][0]);

		if (strcmp(mode, "host") == 0 || strncmp(mode, "container:", 10) == 0)
			sbx_report_add(report, "namespaces", SBX_OFF, "'%.60s', by %s of runtime_configs",
				       mode, modes[i][1]);
	}
	if (flag_of(host, "Privileged") || strcmp(text_of(host, "PidMode"), "host") == 0)
		sbx_report_add(report, "proc", SBX_OFF, "the machine's, by runtime_configs");
	else
		sbx_report_add(report, "proc", SBX_ENFORCED, "the container's own, masked by the engine");
	if (flag_of(host, "Privileged") || json_array_size(json_object_get(host, "Devices")) > 0 ||
	    json_array_size(json_object_get(host, "DeviceRequests")) > 0)
		sbx_report_add(report, "devices", SBX_OFF, "some of the machine's, by runtime_configs");
	else
		sbx_report_add(report, "devices", SBX_ENFORCED, "the few that every container has");
}

void engine_report(const struct engine_client *client, const struct engine_container *container,
		   struct sbx_report *report)
{
	const json_t *host = host_of(container->asked);
	const char *title = engine_client_flavor(client)->title;

	if (container->asked == NULL) {
		sbx_report_add(report, "container", SBX_OFF,
			       "somebody else's, of %s: as isolated as its owner made it", title);
		return;
	}
	sbx_report_add(report, "container", SBX_ENFORCED, "of %s", title);
	report_root(host, report);
	report_network(host, report);
	report_limits(client, container, report);
	report_disk(container->asked, report);
	report_privileges(host, report);
	report_shared(host, report);
}
