/* SPDX-License-Identifier: MIT */
#include "backend/engine/container.h"

#include "backend/engine/files.h"
#include "backend/engine/runtime.h"
#include "backend/engine/sets.h"
#include "backend/engine/tar.h"
#include "backend/engine/words.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/path.h"
#include "backend/engine/labels.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REMOVING_MAX 2
#define REMOVAL_MS   20000

/* What the agent needs until it drops them too: to become the user, to end its processes, to give it folders. */
static const char *const capabilities[] = {"SETUID", "SETGID", "SETPCAP", "KILL", "CHOWN"};

const uint64_t engine_capabilities = 1ull << CAP_SETUID | 1ull << CAP_SETGID | 1ull << CAP_SETPCAP |
				     1ull << CAP_KILL | 1ull << CAP_CHOWN;

static json_t *list_of(const char *const *items, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_string(items[i]));
	return list;
}

/* ---- the description ---- */

static json_t *sized(const struct sbx_spec *spec)
{
	return json_sprintf("rw,exec,nosuid,nodev,mode=1777,size=%llu",
			    (unsigned long long)spec->limits[SBX_LIMIT_DISK_BYTES]);
}

/* Anywhere else the image may have something that is to be seen. */
static bool is_our_place(const char *path)
{
	return sbx_path_is_below(path, "/sandbox") || sbx_path_is_below(path, "/tmp") ||
	       sbx_path_is_below(path, "/home/sandbox");
}

/*
 * Folders of their own in memory, which count against the memory limit as well. What is to be committed
 * must be in the container's own root.
 */
static json_t *describe_tmpfs(const struct sbx_spec *spec)
{
	json_t *o = json_object();

	json_object_set_new(o, "/tmp", sized(spec));
	if (spec->container.commit || spec->container.was_committed)
		return o;
	json_object_set_new(o, "/home/sandbox", sized(spec));
	json_object_set_new(o, "/sandbox", sized(spec));
	if (is_our_place(spec->workdir))
		json_object_set_new(o, spec->workdir, sized(spec));
	/* One that the user shows there is it. */
	for (size_t i = 0; i < spec->mount_count; i++)
		json_object_del(o, spec->mounts[i].inside);
	return o;
}

static json_t *describe_binds(const struct sbx_spec *spec)
{
	char name[ENGINE_VOLUME_MAX];
	json_t *list = json_array();

	engine_volume_name(spec, name);
	json_array_append_new(list, json_sprintf("%s:" ENGINE_AGENT_FOLDER ":ro," ENGINE_VOLUME_MODE, name));
	for (size_t i = 0; i < spec->mount_count; i++) {
		const struct sbx_mount *m = &spec->mounts[i];

		json_array_append_new(list, json_sprintf("%s:%s:%s", m->host, m->inside,
							 m->writable ? "rw" : "ro"));
	}
	return list;
}

static json_t *describe_ulimits(const struct sbx_spec *spec)
{
	json_int_t files = (json_int_t)spec->limits[SBX_LIMIT_OPEN_FILES];

	/* The agent's own; programs get theirs from it. Both are named, lest an engine asks for more. */
	files = files < 1024 ? 1024 : files;
	return json_pack("[{s:s, s:I, s:I}, {s:s, s:I, s:I}]", "Name", "nofile", "Soft", files, "Hard",
			 files, "Name", "nproc", "Soft", (json_int_t)32768, "Hard", (json_int_t)32768);
}

static bool is_limited(const struct sbx_spec *spec, enum sbx_limit limit)
{
	return (spec->container.unlimited & 1u << limit) == 0;
}

static void describe_limits(const struct sbx_spec *spec, json_t *host)
{
	json_int_t memory = (json_int_t)spec->limits[SBX_LIMIT_MEMORY_BYTES];
	json_int_t cpus = (json_int_t)spec->limits[SBX_LIMIT_CPU_MILLI];
	json_int_t processes = (json_int_t)spec->limits[SBX_LIMIT_PROCESSES];

	if (is_limited(spec, SBX_LIMIT_MEMORY_BYTES)) {
		json_object_set_new(host, "Memory", json_integer(memory));
		json_object_set_new(host, "MemorySwap", json_integer(memory));
	}
	if (is_limited(spec, SBX_LIMIT_CPU_MILLI))
		json_object_set_new(host, "NanoCpus", json_integer(cpus * 1000000));
	/* The agent is a process too, hence one more. */
	if (is_limited(spec, SBX_LIMIT_PROCESSES))
		json_object_set_new(host, "PidsLimit", json_integer(processes + 1));
	json_object_set_new(host, "Ulimits", describe_ulimits(spec));
	json_object_set_new(host, "ShmSize", json_integer((json_int_t)spec->limits[SBX_LIMIT_DISK_BYTES]));
}

static json_t *describe_host(const struct sbx_spec *spec)
{
	/* A commit comes when the agent has ended, and then there must be something to commit. */
	bool keeps = spec->container.commit;
	json_t *host = json_pack("{s:b, s:s, s:[s], s:o, s:b, s:[s], s:o, s:o, s:{s:s}}", "AutoRemove",
				 !keeps, "NetworkMode", "none", "CapDrop", "ALL", "CapAdd",
				 list_of(capabilities, sizeof(capabilities) / sizeof(capabilities[0])),
				 "ReadonlyRootfs", !keeps, "SecurityOpt", "no-new-privileges", "Tmpfs",
				 describe_tmpfs(spec), "Binds", describe_binds(spec), "LogConfig", "Type",
				 "none");

	if (host != NULL)
		describe_limits(spec, host);
	return host;
}

static const char *wish_of(const struct sbx_spec *spec, const char *name)
{
	return json_string_value(json_object_get(spec->container.runtime, name));
}

/* What the engines hide, and what else of /proc tells of the machine. */
static const char *const masked[] = {
	"/proc/acpi", "/proc/asound", "/proc/cmdline", "/proc/interrupts", "/proc/kallsyms", "/proc/kcore",
	"/proc/key-users", "/proc/keys", "/proc/kmsg", "/proc/latency_stats", "/proc/modules",
	"/proc/sched_debug", "/proc/scsi", "/proc/sysrq-trigger", "/proc/timer_list", "/proc/timer_stats",
	"/sys/devices/virtual/powercap", "/sys/firmware",
};

/* Before wishes are applied, which may say otherwise. */
static void mask_paths(const struct engine_flavor *flavor, json_t *container)
{
	json_t *host = json_object_get(container, "HostConfig");
	struct sbx_buf option = SBX_BUF_INIT(1024);

	if (!flavor->masks_by_option) {
		json_object_set_new(host, "MaskedPaths",
				    list_of(masked, sizeof(masked) / sizeof(masked[0])));
		return;
	}
	for (size_t i = 0; i < sizeof(masked) / sizeof(masked[0]); i++)
		sbx_buf_printf(&option, "%s%s", i == 0 ? "mask=" : ":", masked[i]);
	if (!option.failed)
		json_array_append_new(json_object_get(host, "SecurityOpt"),
				      json_stringn(option.data, option.len));
	sbx_buf_done(&option);
}

static bool is_privileged(const struct sbx_spec *spec)
{
	return json_is_true(json_object_get(spec->container.runtime, "privileged"));
}

/* Where there is no network a container need not know this machine's name servers. */
static void hide_resolver(json_t *container)
{
	json_t *host = json_object_get(container, "HostConfig");

	if (strcmp(json_string_value(json_object_get(host, "NetworkMode")), "none") != 0)
		return;
	if (json_object_get(host, "Dns") == NULL)
		json_object_set_new(host, "Dns", json_pack("[s]", "127.0.0.1"));
	if (json_object_get(host, "DnsSearch") == NULL)
		json_object_set_new(host, "DnsSearch", json_pack("[s]", "."));
}

/* What is shared with others has its size already, and Podman refuses another. */
static void share_memory(const struct sbx_spec *spec, json_t *container)
{
	const char *mode = wish_of(spec, "ipc_mode") ?: "private";

	if (strcmp(mode, "private") != 0 && strcmp(mode, "shareable") != 0 &&
	    json_object_get(spec->container.runtime, "shm_size") == NULL)
		json_object_del(json_object_get(container, "HostConfig"), "ShmSize");
}

/* Whether something of the user's is shown at this place. */
static bool is_taken(const json_t *host, const char *place)
{
	size_t len = strlen(place), i;
	json_t *item;

	json_array_foreach(json_object_get(host, "Binds"), i, item) {
		const char *at = strchr(json_string_value(item), ':');

		if (at != NULL && strncmp(at + 1, place, len) == 0 &&
		    (at[len + 1] == ':' || at[len + 1] == '\0'))
			return true;
	}
	json_array_foreach(json_object_get(host, "Mounts"), i, item) {
		if (strcmp(json_string_value(json_object_get(item, "Target")), place) == 0)
			return true;
	}
	return json_object_get(json_object_get(host, "Tmpfs"), place) != NULL;
}

/*
 * Where the image has something to be seen, and changed: what was committed, and a work folder of its
 * own. A volume without a name begins with what the image has at its place, and goes with the container.
 */
static void show_volumes(const struct sbx_spec *spec, json_t *o)
{
	const json_t *host = json_object_get(o, "HostConfig");
	bool committed = spec->container.was_committed && !spec->container.commit;
	json_t *volumes = json_object();

	if (committed && !is_taken(host, "/home/sandbox"))
		json_object_set_new(volumes, "/home/sandbox", json_object());
	if ((committed || (!is_our_place(spec->workdir) && !spec->container.commit)) &&
	    !is_taken(host, spec->workdir))
		json_object_set_new(volumes, spec->workdir, json_object());
	if (json_object_size(volumes) > 0)
		json_object_set_new(o, "Volumes", volumes);
	else
		json_decref(volumes);
}

/* What a user shows there comes before it, and nothing of what the image has there gets into it. */
static void show_sets(const struct sbx_spec *spec, json_t *o)
{
	json_t *host = json_object_get(o, "HostConfig");

	if (spec->container.sets == NULL || is_taken(host, ENGINE_SETS_MOUNT))
		return;
	json_array_append_new(json_object_get(host, "Binds"),
			      json_sprintf("%s:" ENGINE_SETS_MOUNT ":%s," ENGINE_VOLUME_MODE, spec->container.sets,
					   spec->sets_writable ? "rw" : "ro"));
}

/* The agent opens those that are ours, and gives all but /tmp to the user. */
static void name_folders(const struct sbx_spec *spec, json_t *o)
{
	const char *const ours[] = {"/tmp", "/home/sandbox", "/sandbox", spec->workdir};
	size_t count = strcmp(spec->workdir, "/sandbox") == 0 ? 3 : 4;
	const json_t *tmpfs = json_object_get(json_object_get(o, "HostConfig"), "Tmpfs");
	const json_t *wished = json_object_get(spec->container.runtime, "tmpfs");
	const json_t *volumes = json_object_get(o, "Volumes");

	for (size_t i = 0; i < count; i++) {
		bool in_memory = json_object_get(tmpfs, ours[i]) != NULL &&
				 json_object_get(wished, ours[i]) == NULL;

		if (in_memory || json_object_get(volumes, ours[i]) != NULL)
			json_array_append_new(json_object_get(o, "Entrypoint"), json_string(ours[i]));
	}
}

/*
 * An image may have a program that its engine starts again and again, as root and beside the agent's
 * fences, to see whether the container is well.
 */
static json_t *no_healthcheck(void)
{
	return json_pack("{s:[s]}", "Test", "NONE");
}

/* They are told in one text with colons in it, which is UTF-8. */
static int check_mounts(const struct sbx_spec *spec, struct sbx_error *err)
{
	for (size_t i = 0; i < spec->mount_count; i++) {
		const struct sbx_mount *m = &spec->mounts[i];
		json_t *text = json_sprintf("%s%s", m->host, m->inside);
		bool fine = text != NULL && strchr(json_string_value(text), ':') == NULL;

		json_decref(text);
		if (!fine)
			return sbx_fail(err, SBX_E_INVALID,
					"the mount of '%.200s' cannot be told to an engine: a path has a colon "
					"in it, or is not UTF-8",
					m->host);
	}
	return 0;
}

json_t *engine_container_describe(const struct engine_flavor *flavor, const struct sbx_spec *spec,
				  const char *image, struct sbx_error *err)
{
	json_t *o;

	if (check_mounts(spec, err) < 0)
		return NULL;
	o = json_pack(
		"{s:s, s:[s, s], s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:o, s:o, s:o}", "Image",
		image, "Entrypoint", ENGINE_AGENT_FOLDER "/agent", "--stdio", "User", "0:0",
		"WorkingDir", "/", "OpenStdin", true, "StdinOnce", true, "AttachStdin", true,
		"AttachStdout", true, "AttachStderr", true, "Labels", engine_labels("session", NULL), "Healthcheck",
		no_healthcheck(), "HostConfig", describe_host(spec));

	if (o == NULL) {
		sbx_fail_errno(err, ENOMEM, "cannot describe a container");
		return NULL;
	}
	if (!is_privileged(spec))
		mask_paths(flavor, o);
	if (engine_runtime_apply(flavor, spec->container.runtime, o, err) < 0) {
		json_decref(o);
		return NULL;
	}
	hide_resolver(o);
	share_memory(spec, o);
	show_sets(spec, o);
	show_volumes(spec, o);
	name_folders(spec, o);
	return o;
}

void engine_container_done(struct engine_container *container)
{
	engine_ours_remove(container->session);
	json_decref(container->asked);
	json_decref(container->volumes);
	free(container->warnings);
	container->asked = container->volumes = NULL;
	container->warnings = NULL;
}

/* ---- calls ---- */

static void format_create(const struct sbx_spec *spec, char *ret, size_t size)
{
	const char *name = wish_of(spec, "name"), *platform = wish_of(spec, "platform");

	snprintf(ret, size, "/containers/create%s%s%s%s%s", name || platform ? "?" : "",
		 name ? "name=" : "", name ? name : "", platform ? name ? "&platform=" : "platform=" : "",
		 platform ? platform : "");
}

/* Engines differ in the number of it, and not in these words. */
static int explain(const struct sbx_spec *spec, int r, struct sbx_error *err)
{
	const char *name = wish_of(spec, "name");

	if (r == 0 || name == NULL || strstr(err->msg, "already in use") == NULL)
		return r;
	return sbx_fail(err, SBX_E_INVALID, "there is a container called '%.128s' already; choose another name",
			name);
}

/* The engine's remarks about what it was asked for, in one line. */
static char *join_warnings(const json_t *answer)
{
	struct sbx_buf text = SBX_BUF_INIT(512);
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(answer, "Warnings"), i, item) {
		const char *warning = json_string_value(item) ?: "";
		char words[ENGINE_WORDS_MAX];

		engine_words_clean(warning, strlen(warning), words, sizeof(words));
		sbx_buf_printf(&text, "%s%.200s", i > 0 ? "; " : "", words);
	}
	if (text.len > 0 && !text.failed)
		return sbx_buf_take(&text);
	sbx_buf_done(&text);
	return NULL;
}

bool engine_container_take_id(const json_t *answer, struct engine_container *ret)
{
	const char *id = json_string_value(json_object_get(answer, "Id"));

	if (id == NULL || id[0] == '\0' || strlen(id) >= sizeof(ret->id) ||
	    strspn(id, "0123456789abcdef") != strlen(id))
		return false;
	snprintf(ret->id, sizeof(ret->id), "%s", id);
	return true;
}

static int take_id(const json_t *answer, struct engine_container *ret, struct sbx_error *err)
{
	if (!engine_container_take_id(answer, ret))
		return sbx_fail(err, SBX_E_PROTOCOL, "the engine made a container and did not say which");
	return 0;
}

/*
 * A program that listens at ::1 is to find it as it does elsewhere. The setting is of the container's own
 * network, which has nothing but the loopback; a machine without IPv6 would not start it.
 */
static void open_loopback(const struct engine_client *client, json_t *container)
{
	static const char setting[] = "net.ipv6.conf.lo.disable_ipv6";
	json_t *host = json_object_get(container, "HostConfig");
	const char *network = json_string_value(json_object_get(host, "NetworkMode"));

	if (!engine_client_flavor(client)->closes_loopback || !engine_client_is_local(client) ||
	    network == NULL || strcmp(network, "none") != 0 || json_object_get(host, "Runtime") != NULL ||
	    json_object_get(host, "Sysctls") != NULL ||
	    access("/proc/sys/net/ipv6/conf/lo/disable_ipv6", F_OK) < 0)
		return;
	json_object_set_new(host, "Sysctls", json_pack("{s:s}", setting, "0"));
}

/* What the user wishes of it the engine writes into its own file. */
static bool is_wished(const struct sbx_spec *spec, const char *const *names)
{
	for (; *names != NULL; names++) {
		const json_t *value = json_object_get(spec->container.runtime, *names);

		if (value != NULL && !json_is_null(value))
			return true;
	}
	return false;
}

/* Files of ours in place of those that tell of this machine's network, unless the user shows some there. */
static void hide_names(const struct engine_client *client, const struct sbx_spec *spec,
		       json_t *container)
{
	static const struct {
		const char *path, *text;
		const char *wishes[4];
	} files[] = {
		{"/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n", {"extra_hosts"}},
		{"/etc/resolv.conf", "nameserver 127.0.0.1\n", {"dns", "dns_opt", "dns_search"}},
	};
	json_t *host = json_object_get(container, "HostConfig");

	if (!engine_client_flavor(client)->shows_names ||
	    strcmp(json_string_value(json_object_get(host, "NetworkMode")) ?: "", "none") != 0)
		return;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		bool is_ours = !is_taken(host, files[i].path) && !is_wished(spec, files[i].wishes);
		auto_free char *path = is_ours ? engine_file_with(files[i].text) : NULL;

		if (path != NULL)
			json_array_append_new(json_object_get(host, "Binds"),
					      json_sprintf("%s:%s:ro", path, files[i].path));
	}
}

/* An engine that does not see our files can do without. */
static void show_names(json_t *container, size_t binds)
{
	json_t *list = json_object_get(json_object_get(container, "HostConfig"), "Binds");

	while (json_array_size(list) > binds)
		json_array_remove(list, json_array_size(list) - 1);
}

static int call_create(struct engine_client *client, const char *path, const json_t *body,
		       json_t **ret_answer, struct sbx_error *err)
{
	return engine_call(client, &(struct engine_request){.method = "POST", .path = path, .body = body},
			   ret_answer, err);
}

/* Ask for what was described. */
static int make(struct engine_client *client, struct engine_container *c, struct sbx_error *err)
{
	json_t *answer = NULL;
	int r = call_create(client, c->path, c->asked, &answer, err);

	if (r == 0)
		r = take_id(answer, c, err);
	if (r == 0 && c->warnings == NULL)
		c->warnings = join_warnings(answer);
	json_decref(answer);
	return r;
}

/* With what this very engine can have, and then without, where it turns out that it cannot. */
static int make_safe(struct engine_client *client, const struct sbx_spec *spec,
		     struct engine_container *c, struct sbx_error *err)
{
	size_t binds;
	int r;

	open_loopback(client, c->asked);
	binds = json_array_size(json_object_get(json_object_get(c->asked, "HostConfig"), "Binds"));
	r = engine_seccomp_add(client, c->asked, &c->seccomp, err);
	if (r < 0)
		return r;
	/* That it can read the profile says that it sees the others. */
	if (c->seccomp.profile == ENGINE_PROFILE_OURS)
		hide_names(client, spec, c->asked);
	r = make(client, c, err);
	if (r == 0 || !engine_seccomp_give_up(c->asked, &c->seccomp, err))
		return r;
	show_names(c->asked, binds);
	return make(client, c, err);
}

/* The name is among ours before the engine hears it: the sweep takes none that is under way. */
int engine_container_create(struct engine_client *client, const struct sbx_spec *spec,
			    const char *image, struct engine_container *ret, struct sbx_error *err)
{
	struct engine_container c = {
		.asked = engine_container_describe(engine_client_flavor(client), spec, image, err)};
	int r;

	if (c.asked == NULL)
		return -(int)err->code;
	engine_ours_add(c.session);
	json_object_set_new(json_object_get(c.asked, "Labels"), ENGINE_LABEL_SESSION,
			    json_string(c.session));
	format_create(spec, c.path, sizeof(c.path));
	r = explain(spec, make_safe(client, spec, &c, err), err);
	if (r < 0)
		engine_container_done(&c);
	else
		*ret = c;
	return r;
}

int engine_container_create_again(struct engine_client *client, struct engine_container *container,
				  struct sbx_error *err)
{
	container->id[0] = '\0';
	return make(client, container, err);
}

int engine_container_put(struct engine_client *client, const struct engine_container *container,
			 const char *folder, const struct sbx_buf *tar, struct sbx_error *err)
{
	char path[512];

	if (tar->failed)
		return sbx_fail_errno(err, ENOMEM, "cannot pack files for the container");
	snprintf(path, sizeof(path), "/containers/%s/archive?path=%s", container->id, folder);
	return engine_call(client, &(struct engine_request){.method = "PUT", .path = path,
							    .raw = tar->data, .raw_len = tar->len,
							    .raw_type = "application/x-tar"},
			   NULL, err);
}

int engine_container_make_folders(struct engine_client *client, const struct sbx_spec *spec,
				  const struct engine_container *container, struct sbx_error *err)
{
	auto_buf struct sbx_buf tar = SBX_BUF_INIT(1u << 20);

	if (strlen(spec->workdir + 1) > ENGINE_TAR_NAME_MAX)
		return sbx_fail(err, SBX_E_INVALID,
				"the work folder '%.128s' has a longer name than one for a commit can have",
				spec->workdir);
	engine_tar_add_folder(&tar, spec->workdir + 1, 0755, spec->uid, spec->gid);
	engine_tar_add_folder(&tar, "home/sandbox", 0755, spec->uid, spec->gid);
	engine_tar_end(&tar);
	return engine_container_put(client, container, "/", &tar, err);
}

static int call(struct engine_client *client, const char *method, const char *path,
		unsigned int accept, struct sbx_error *err)
{
	return engine_call(client, &(struct engine_request){.method = method, .path = path,
							    .accept = accept},
			   NULL, err);
}

int engine_container_start(struct engine_client *client, const struct engine_container *container,
			   struct sbx_error *err)
{
	char path[256];

	if (container->program[0] != '\0')
		return 0;
	snprintf(path, sizeof(path), "/containers/%s/start", container->id);
	return call(client, "POST", path, 0, err);
}

int engine_container_attach(struct engine_client *client, const struct engine_container *container,
			    struct engine_stream **ret, struct sbx_error *err)
{
	char path[256];

	if (container->program[0] != '\0')
		return engine_exec_attach(client, container, ret, err);
	/* Podman looks for keys to detach by also where there is no terminal: there are to be none. */
	snprintf(path, sizeof(path),
		 "/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1&detachKeys=", container->id);
	return engine_stream_open(client, path, NULL, ret, err);
}

/* ---- removal ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned int removing;
static pid_t owner; /* a process that is forked off has none of the threads that remove */

/* A process that is forked off has none of the threads, one of which may have had the lock. */
static void start_anew_in_a_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	removing = 0;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, start_anew_in_a_child);
}

static void take_turn(void)
{
	pthread_mutex_lock(&lock);
	if (owner != getpid())
		removing = 0;
	owner = getpid();
	while (removing == REMOVING_MAX)
		pthread_cond_wait(&changed, &lock);
	removing++;
	pthread_mutex_unlock(&lock);
}

static void leave_turn(void)
{
	pthread_mutex_lock(&lock);
	removing--;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

int engine_container_remove(struct engine_client *client, const struct engine_container *container,
			    struct sbx_error *err)
{
	char path[256];
	int r;

	if (container->program[0] != '\0' || container->id[0] == '\0')
		return 0;
	/* With the volumes that the image has declared and nobody has named. */
	snprintf(path, sizeof(path), "/containers/%s?force=1&v=1", container->id);
	take_turn();
	r = engine_call(client, &(struct engine_request){.method = "DELETE", .path = path, .accept = 404,
							 .timeout_ms = REMOVAL_MS}, NULL, err);
	leave_turn();
	/* It removes itself at the same time. */
	return r < 0 && engine_status(client) == 409 ? 0 : r;
}
