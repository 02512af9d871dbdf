/* SPDX-License-Identifier: MIT */
/*
 * What isolates a container: what was asked for, less what was wished away, as far as the agent has
 * found it to be so. The agent reads it of the kernel while it starts, which costs next to nothing; the
 * engine is not asked, which would repeat what it was told.
 */
#include "backend/engine/container.h"

#include "backend/engine/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void report_root(const json_t *host, const struct wire_surroundings *found,
			struct sbx_report *report)
{
	if (!flag_of(host, "ReadonlyRootfs"))
		sbx_report_add(report, "root file system", SBX_OFF,
			       "can be written, by read_only of runtime_configs or for a commit");
	else if (!found->read_only_root)
		sbx_report_add(report, "root file system", SBX_MISSING,
			       "can be written, though the engine was asked for one that cannot");
	else
		sbx_report_add(report, "root file system", SBX_ENFORCED, "read-only, the image's");
}

static void report_network(const json_t *host, const struct wire_surroundings *found,
			   struct sbx_report *report)
{
	const char *mode = text_of(host, "NetworkMode");

	if (strcmp(mode, "none") != 0)
		sbx_report_add(report, "network", SBX_OFF, "'%.60s', by network_mode of runtime_configs",
			       mode);
	else if (found->interfaces == UINT32_MAX)
		sbx_report_add(report, "network", SBX_MISSING,
			       "the engine was asked for none; inside nobody can see whether it is so");
	else if (found->interfaces > 0)
		sbx_report_add(report, "network", SBX_MISSING,
			       "%u interfaces besides the loopback, though the engine was asked for none",
			       found->interfaces);
	else
		sbx_report_add(report, "network", SBX_ENFORCED, "none but the sandbox's own loopback");
}

struct limit_row {
	const char *name, *unit;
	double scale;		   /* of what is found, to this unit */
	const char *key;	   /* what the engine was asked for … */
	double asked_scale;	   /* … to this unit */
	const char *warning; /* what the engine calls it when it cannot have it */
};

/* Why there is none, as far as anybody knows. */
static void report_missing(const struct engine_client *client, const struct engine_container *container,
			   const struct limit_row *row, uint64_t found, struct sbx_report *report)
{
	const char *warning = container->warnings ? strcasestr(container->warnings, row->warning) : NULL;
	double asked = json_number_value(json_object_get(host_of(container->asked), row->key));

	if (container->passes_limits_by)
		sbx_report_add(report, row->name, SBX_MISSING,
			       "%s of an ordinary user has no limits with version 1 of cgroups",
			       engine_client_flavor(client)->title);
	else if (warning != NULL)
		sbx_report_add(report, row->name, SBX_MISSING, "the engine says: %s", container->warnings);
	else if (found == 0)
		sbx_report_add(report, row->name, SBX_MISSING,
			       "the engine was asked for %.6g %s; inside nobody can see whether it is so",
			       asked / row->asked_scale, row->unit);
	else
		sbx_report_add(report, row->name, SBX_MISSING,
			       "the engine was asked for one, and the kernel has none for this container");
}

/* Of the kernel's own numbers: 0 cannot be seen, UINT64_MAX is none. */
static void report_limit(const struct engine_client *client, const struct engine_container *container,
			 const struct limit_row *row, uint64_t found, struct sbx_report *report)
{
	const json_t *host = host_of(container->asked);
	double asked = json_number_value(json_object_get(host, row->key)) / row->asked_scale;
	double is = (double)found / row->scale;

	if (asked <= 0)
		sbx_report_add(report, row->name, SBX_OFF, "none, by runtime_configs");
	else if (found == 0 || found == UINT64_MAX)
		report_missing(client, container, row, found, report);
	else if (is > asked * 1.01)
		sbx_report_add(report, row->name, SBX_MISSING, "%.6g %s, though the engine was asked for %.6g",
			       is, row->unit, asked);
	else
		sbx_report_add(report, row->name, SBX_ENFORCED, "%.6g %s", is, row->unit);
}

/* A limit of memory alone is none where the rest goes to swap: kernels are built without the other. */
static void report_memory(const struct engine_client *client, const struct engine_container *container,
			  uint64_t found, struct sbx_report *report)
{
	static const struct limit_row rows[] = {
		{"memory limit", "MiB, no swap", 1048576, "Memory", 1048576, "memory limit"},
		{"memory limit", "MiB, and swap by memswap_limit of runtime_configs", 1048576, "Memory", 1048576,
		 "memory limit"},
	};
	const json_t *host = host_of(container->asked);
	bool swaps = !json_equal(json_object_get(host, "Memory"), json_object_get(host, "MemorySwap"));

	if (!swaps && container->warnings != NULL && strcasestr(container->warnings, "swap limit") != NULL)
		sbx_report_add(report, rows[0].name, SBX_MISSING, "the engine says: %s", container->warnings);
	else
		report_limit(client, container, &rows[swaps], found, report);
}

static void report_limits(const struct engine_client *client, const struct engine_container *container,
			  const struct wire_surroundings *found, struct sbx_report *report)
{
	static const struct limit_row processes = {"process limit", "processes, with the agent's", 1,
						   "PidsLimit", 1, "pids limit"};
	static const struct limit_row cpu = {"cpu limit", "CPUs", 1000, "NanoCpus", 1e9, "cpu"};

	report_memory(client, container, found->memory_bytes, report);
	report_limit(client, container, &processes, found->processes, report);
	report_limit(client, container, &cpu, found->cpu_milli, report);
}

/* Whether the fence that lets nothing be written but what was asked for is up. */
static bool is_fenced(const struct sbx_report *report)
{
	for (size_t i = 0; i < report->count; i++) {
		if (strcmp(report->lines[i].name, "landlock") == 0)
			return report->lines[i].status == SBX_ENFORCED;
	}
	return false;
}

/* A place that was asked for on the engine's disk, beside mounts of this machine's; NULL: none. */
static const char *find_asked_volume(const json_t *host)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(host, "Mounts"), i, item) {
		if (!flag_of(item, "ReadOnly") && strcmp(text_of(item, "Type"), "volume") == 0)
			return text_of(item, "Target");
	}
	return NULL;
}

/* Whether something was asked for at this place, which is there in place of the image's volume. */
static bool is_asked_for(const json_t *host, const char *place)
{
	struct {
		char *list[WIRE_WRITABLE_MAX * 2];
		size_t count;
	} asked = {.count = 0};
	struct places p = {.list = asked.list, .max = WIRE_WRITABLE_MAX * 2, .count = &asked.count};
	bool found = false;

	add_asked(&p, host);
	for (size_t i = 0; i < asked.count; i++) {
		found |= strcmp(asked.list[i], place) == 0;
		free(asked.list[i]);
	}
	return found;
}

/* "/data, /var/lib/x": volumes that the image itself declares; "" when there are none. */
static const char *name_volumes(const struct engine_container *container, char *ret, size_t size)
{
	const char *place;
	char word[128];
	json_t *item;

	ret[0] = '\0';
	json_object_foreach(container->volumes, place, item) {
		size_t len = strlen(ret);

		if (!is_asked_for(host_of(container->asked), place))
			snprintf(ret + len, size - len, "%s%s", len > 0 ? ", " : "",
				 engine_words_clean(place, strlen(place), word, sizeof(word)));
	}
	return ret;
}

/*
 * Folders in memory have a size each; what is in the root, or in a volume, is the engine's disk. An
 * image may declare volumes, which anybody may write if it says so; that is for Landlock to prevent.
 */
static void report_disk(const struct engine_container *container, const struct wire_surroundings *found,
			struct sbx_report *report)
{
	const json_t *asked = container->asked;
	bool in_root = !flag_of(host_of(asked), "ReadonlyRootfs");
	const char *wished = find_asked_volume(host_of(asked));
	char volumes[200];

	if (in_root || json_object_size(json_object_get(asked, "Volumes")) > 0)
		sbx_report_add(report, "disk limit", SBX_OFF, "files are on the engine's disk, %s",
			       in_root ? "in a root that can be written" : "in a volume");
	else if (wished != NULL)
		sbx_report_add(report, "disk limit", SBX_OFF,
			       "files at %.100s are on the engine's disk, by mounts of runtime_configs", wished);
	else if (!is_fenced(report) && name_volumes(container, volumes, sizeof(volumes))[0] != '\0')
		sbx_report_add(report, "disk limit", SBX_MISSING,
			       "volumes of the image have none, and no Landlock keeps programs out: %s", volumes);
	else if (found->disk_bytes == 0 || found->disk_bytes == UINT64_MAX)
		sbx_report_add(report, "disk limit", SBX_MISSING,
			       "the engine was asked for folders in memory with a size, and made others");
	else
		sbx_report_add(report, "disk limit", SBX_ENFORCED,
			       "%llu bytes in memory of each of the work folder, the home, /tmp and /dev/shm; "
			       "all count as memory too",
			       (unsigned long long)found->disk_bytes);
}

static void report_capabilities(const json_t *host, const struct wire_surroundings *found,
				struct sbx_report *report)
{
	const char *name = "container privileges";

	if (flag_of(host, "Privileged"))
		sbx_report_add(report, name, SBX_OFF, "all, by privileged of runtime_configs");
	else if (has_capabilities(host))
		sbx_report_add(report, name, SBX_OFF,
			       "more than the agent needs, by cap_add or cap_drop of runtime_configs");
	else if ((found->capabilities & ~engine_capabilities) != 0)
		sbx_report_add(report, name, SBX_MISSING, "more than the engine was asked for (%#llx)",
			       (unsigned long long)found->capabilities);
	else
		sbx_report_add(report, name, SBX_ENFORCED, "what the agent needs until it drops them");
}

static void report_seccomp(const struct engine_container *container,
			   const struct wire_surroundings *found, struct sbx_report *report)
{
	const json_t *host = host_of(container->asked);
	const struct engine_seccomp *seccomp = &container->seccomp;
	const char *name = "container seccomp";

	if (has_option(host, "seccomp=unconfined") ||
	    (seccomp->profile == ENGINE_PROFILE_WISHED && flag_of(host, "Privileged")))
		sbx_report_add(report, name, SBX_OFF, "by runtime_configs");
	else if (!found->seccomp)
		sbx_report_add(report, name, SBX_MISSING, "the engine has put up no filter");
	else if (seccomp->profile == ENGINE_PROFILE_WISHED)
		sbx_report_add(report, name, SBX_ENFORCED, "the profile of runtime_configs");
	else if (seccomp->profile == ENGINE_PROFILE_ENGINES)
		sbx_report_add(report, name, SBX_ENFORCED, "the engine's own, around the agent; %s",
			       seccomp->reason);
	else
		sbx_report_add(report, name, SBX_ENFORCED,
			       "the agent's allow list, around the agent and whatever else is executed there");
}

/* Without a user namespace a number inside is the same number on the engine's machine. */
static void report_ids(const struct wire_surroundings *found, uint32_t uid, struct sbx_report *report)
{
	if (found->host_uid == UINT32_MAX)
		sbx_report_add(report, "host ids", SBX_MISSING, "user %u is nobody outside", uid);
	else if (found->host_uid == uid)
		sbx_report_add(report, "host ids", SBX_MISSING,
			       "programs are user %u of the engine's machine too; rootless engines, and "
			       "userns-remap, have others",
			       uid);
	else
		sbx_report_add(report, "host ids", SBX_ENFORCED,
			       "programs are user %u of the engine's machine, and %u inside",
			       found->host_uid, uid);
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
	else if (has_option(host, "systempaths=unconfined") || has_option(host, "unmask="))
		sbx_report_add(report, "proc", SBX_OFF,
			       "the container's own, and not masked, by %s in security_opt of runtime_configs",
			       has_option(host, "unmask=") ? "unmask" : "systempaths");
	else
		sbx_report_add(report, "proc", SBX_ENFORCED, "the container's own, masked by the engine");
	if (flag_of(host, "Privileged") || json_array_size(json_object_get(host, "Devices")) > 0 ||
	    json_array_size(json_object_get(host, "DeviceRequests")) > 0)
		sbx_report_add(report, "devices", SBX_OFF, "some of the machine's, by runtime_configs");
	else
		sbx_report_add(report, "devices", SBX_ENFORCED, "the few that every container has");
}

void engine_report(const struct engine_client *client, const struct engine_container *container,
		   uint32_t uid, const struct wire_surroundings *found, struct sbx_report *report)
{
	const json_t *host = host_of(container->asked);
	const char *title = engine_client_flavor(client)->title;

	if (container->asked == NULL) {
		sbx_report_add(report, "container", SBX_OFF,
			       "somebody else's, of %s: as isolated as its owner made it", title);
		return;
	}
	if (!found->known) {
		sbx_report_add(report, "container", SBX_MISSING,
			       "of %s; its agent does not say what it was found to be", title);
		return;
	}
	sbx_report_add(report, "container", SBX_ENFORCED, "of %s", title);
	report_ids(found, uid, report);
	report_root(host, found, report);
	report_network(host, found, report);
	report_limits(client, container, found, report);
	report_disk(container, found, report);
	report_capabilities(host, found, report);
	report_seccomp(container, found, report);
	report_shared(host, report);
}
