/* SPDX-License-Identifier: MIT */
#include "backend/engine/container.h"

#include "backend/engine/labels.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the agent needs until it drops them too: to become the user, and to end its processes. */
static const char *const capabilities[] = {"SETUID", "SETGID", "SETPCAP", "KILL"};

static json_t *list_of(const char *const *items, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_string(items[i]));
	return list;
}

/* ---- the description ---- */

/* Folders of their own in memory, which count against the memory limit as well. */
static json_t *describe_tmpfs(const struct sbx_spec *spec)
{
	unsigned long long size = spec->limits[SBX_LIMIT_DISK_BYTES];
	json_t *o = json_object();

	json_object_set_new(o, "/tmp", json_sprintf("rw,exec,nosuid,nodev,mode=1777,size=%llu", size));
	json_object_set_new(o, "/home/sandbox",
			    json_sprintf("rw,exec,nosuid,nodev,mode=1777,size=%llu", size));
	json_object_set_new(o, spec->workdir,
			    json_sprintf("rw,exec,nosuid,nodev,mode=1777,size=%llu", size));
	return o;
}

static json_t *describe_binds(const struct sbx_spec *spec)
{
	json_t *list = json_array();

	json_array_append_new(list, json_sprintf("%s:" ENGINE_AGENT_FOLDER ":ro", engine_volume_name()));
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

static json_t *describe_host(const struct sbx_spec *spec)
{
	json_int_t memory = (json_int_t)spec->limits[SBX_LIMIT_MEMORY_BYTES];

	return json_pack("{s:b, s:s, s:o, s:o, s:b, s:[s], s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:{s:s}}",
			 "AutoRemove", true, "NetworkMode", "none", "CapDrop",
			 json_pack("[s]", "ALL"), "CapAdd",
			 list_of(capabilities, sizeof(capabilities) / sizeof(capabilities[0])),
			 "ReadonlyRootfs", true, "SecurityOpt", "no-new-privileges", "Tmpfs",
			 describe_tmpfs(spec), "Binds", describe_binds(spec), "Ulimits",
			 describe_ulimits(spec), "PidsLimit",
			 /* The agent and its supervisors are processes too. */
			 (json_int_t)spec->limits[SBX_LIMIT_PROCESSES] + 32, "Memory", memory,
			 "MemorySwap", memory, "NanoCpus",
			 (json_int_t)spec->limits[SBX_LIMIT_CPU_MILLI] * 1000000, "LogConfig", "Type",
			 "none");
}

json_t *engine_container_describe(const struct engine_flavor *flavor, const struct sbx_spec *spec,
				  struct sbx_error *err)
{
	json_t *o;

	(void)flavor;
	if (spec->image == NULL) {
		sbx_fail(err, SBX_E_INVALID, "there is no image to make a container of; name one");
		return NULL;
	}
	o = json_pack("{s:s, s:[s], s:[s], s:s, s:b, s:b, s:b, s:b, s:b, s:o, s:o}", "Image",
		      spec->image, "Entrypoint", ENGINE_AGENT_FOLDER "/agent", "Cmd", "--stdio", "User",
		      "0:0", "OpenStdin", true, "StdinOnce", true, "AttachStdin", true, "AttachStdout",
		      true, "AttachStderr", true, "Labels", engine_labels("session", NULL), "HostConfig",
		      describe_host(spec));
	if (o == NULL)
		sbx_fail_errno(err, ENOMEM, "cannot describe a container");
	return o;
}

/* ---- calls ---- */

int engine_container_create(struct engine_client *client, const struct sbx_spec *spec,
			    struct engine_container *ret, struct sbx_error *err)
{
	json_t *answer = NULL, *body = engine_container_describe(engine_client_flavor(client), spec, err);
	const char *id;
	int r;

	if (body == NULL)
		return -(int)err->code;
	r = engine_call(client, &(struct engine_request){.method = "POST", .path = "/containers/create",
							 .body = body},
			&answer, err);
	json_decref(body);
	id = json_string_value(json_object_get(answer, "Id"));
	if (r == 0 && (id == NULL || strlen(id) >= sizeof(ret->id) ||
		       strspn(id, "0123456789abcdef") != strlen(id)))
		r = sbx_fail(err, SBX_E_PROTOCOL, "the engine made a container and did not say which");
	if (r == 0)
		snprintf(ret->id, sizeof(ret->id), "%s", id);
	json_decref(answer);
	return r;
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

	snprintf(path, sizeof(path), "/containers/%s/start", container->id);
	return call(client, "POST", path, 0, err);
}

int engine_container_attach(struct engine_client *client, const struct engine_container *container,
			    struct engine_stream **ret, struct sbx_error *err)
{
	char path[256];

	snprintf(path, sizeof(path), "/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1",
		 container->id);
	return engine_stream_open(client, path, NULL, ret, err);
}

int engine_container_remove(struct engine_client *client, const struct engine_container *container,
			    struct sbx_error *err)
{
	char path[256];
	int r;

	snprintf(path, sizeof(path), "/containers/%s?force=1&v=0", container->id);
	r = call(client, "DELETE", path, 404, err);
	/* It removes itself at the same time. */
	return r < 0 && engine_status(client) == 409 ? 0 : r;
}
