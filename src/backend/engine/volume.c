/* SPDX-License-Identifier: MIT */
#include "backend/engine/container.h"

#include "backend/engine/labels.h"
#include "backend/engine/tar.h"
#include "base/buf.h"
#include "base/embedded.h"
#include "base/sha256.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ARCHIVE_MAX (16u << 20)
#define OTHER_MS    30000 /* for somebody else to fill it */
#define TRIES	    8

extern const char sbx_agent_image_start[];
extern const char sbx_agent_image_end[];

static pthread_once_t named = PTHREAD_ONCE_INIT;
static char digest[17]; /* of the agent */

static size_t agent_size(void)
{
	return (size_t)(sbx_agent_image_end - sbx_agent_image_start);
}

static void make_digest(void)
{
	struct sbx_sha256 hash = SBX_SHA256_INIT;
	char hex[SBX_SHA256_HEX];

	sbx_sha256_add(&hash, sbx_agent_image_start, agent_size());
	sbx_sha256_hex(&hash, hex);
	snprintf(digest, sizeof(digest), "%.16s", hex);
}

void engine_volume_name(const struct sbx_spec *spec, char ret[ENGINE_VOLUME_MAX])
{
	pthread_once(&named, make_digest);
	snprintf(ret, ENGINE_VOLUME_MAX, "llm-sandbox-agent-%s-%.16s", digest, spec->embedded_version);
}

void engine_volume_pack(struct sbx_buf *tar, const char *path)
{
	engine_tar_add(tar, path, 0755, sbx_agent_image_start, agent_size());
	engine_tar_end(tar);
}

/*
 * A container that has the volume, and whose image need not have any program. It is called what the
 * volume is called: an engine has one of a name, so one at a time fills it.
 */
static int create_carrier(struct engine_client *client, const char *volume, const char *image,
			  struct engine_container *ret, struct sbx_error *err)
{
	char path[ENGINE_VOLUME_MAX + 32];
	json_t *answer = NULL, *body;
	int r;

	snprintf(path, sizeof(path), "/containers/create?name=%s", volume);
	body = json_pack("{s:s, s:[s], s:[], s:o, s:{s:[o], s:s}}", "Image", image, "Entrypoint",
			 ENGINE_AGENT_FOLDER "/agent", "Cmd",
			 "Labels", engine_labels("carrier", NULL), "HostConfig", "Binds",
			 json_sprintf("%s:" ENGINE_AGENT_FOLDER ":" ENGINE_VOLUME_MODE, volume), "NetworkMode",
			 "none");
	if (body == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot describe a container");
	r = engine_call(client, &(struct engine_request){.method = "POST", .path = path, .body = body},
			&answer, err);
	json_decref(body);
	if (r == 0 && !engine_container_take_id(answer, ret))
		r = sbx_fail(err, SBX_E_PROTOCOL, "the engine made a container and did not say which");
	json_decref(answer);
	return r;
}

/* Until the other one has filled it; one that takes too long is gone, or never comes to it. */
static void wait_for_other(struct engine_client *client, const char *volume)
{
	struct engine_container other = {.asked = NULL};
	char path[ENGINE_VOLUME_MAX + 48];
	struct sbx_error ignored;

	snprintf(path, sizeof(path), "/containers/%s/wait?condition=removed", volume);
	if (engine_call(client, &(struct engine_request){.method = "POST", .path = path,
							 .accept = 404, .timeout_ms = OTHER_MS},
			NULL, &ignored) == 0 || ignored.code != SBX_E_TIMEOUT)
		return;
	snprintf(other.id, sizeof(other.id), "%.*s", (int)sizeof(other.id) - 1, volume);
	engine_container_remove(client, &other, &ignored);
}

/* The folders that a file's path names; one that was named before does no harm. */
static void pack_parents(struct sbx_buf *tar, const char *path)
{
	for (const char *slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
		char folder[100];

		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		engine_tar_add_folder(tar, folder, 0755, 0, 0);
	}
}

static void pack_embedded(struct sbx_buf *tar, const struct sbx_embedded_file *file)
{
	for (; file != NULL && file->path != NULL; file++) {
		char path[100];

		snprintf(path, sizeof(path), ENGINE_EMBEDDED "/%s", file->path);
		pack_parents(tar, path);
		engine_tar_add(tar, path, 0644, file->data, file->len);
	}
}

/* The agent comes last: where it is, all is. */
static int put_files(struct engine_client *client, const struct sbx_spec *spec,
		     const struct engine_container *carrier, struct sbx_error *err)
{
	auto_buf struct sbx_buf tar = SBX_BUF_INIT(ARCHIVE_MAX);

	pack_embedded(&tar, spec->embedded);
	engine_volume_pack(&tar, "agent");
	return engine_container_put(client, carrier, ENGINE_AGENT_FOLDER, &tar, err);
}

/* ---- the mark of a whole one ---- */

#define MARK "-whole"

static int call(struct engine_client *client, const char *method, const struct sbx_spec *spec,
		struct sbx_error *err)
{
	char name[ENGINE_VOLUME_MAX], path[ENGINE_VOLUME_MAX + 32];

	engine_volume_name(spec, name);
	snprintf(path, sizeof(path), "/volumes/%s" MARK, name);
	return engine_call(client, &(struct engine_request){.method = method, .path = path}, NULL, err);
}

bool engine_volume_is_whole(struct engine_client *client, const struct sbx_spec *spec)
{
	struct sbx_error ignored;

	return call(client, "GET", spec, &ignored) == 0;
}

void engine_volume_distrust(struct engine_client *client, const struct sbx_spec *spec)
{
	struct sbx_error ignored;

	call(client, "DELETE", spec, &ignored);
}

static int mark(struct engine_client *client, const char *volume, struct sbx_error *err)
{
	json_t *body = json_pack("{s:o}", "Name", json_sprintf("%s" MARK, volume));
	int r;

	if (body == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot describe a volume");
	r = engine_call(client, &(struct engine_request){.method = "POST", .path = "/volumes/create",
							 .body = body},
			NULL, err);
	json_decref(body);
	return r;
}

/* ---- filling it ---- */

/* A carrier that is ours alone, or none (id is "") where somebody else has filled the volume meanwhile. */
static int acquire_carrier(struct engine_client *client, const struct sbx_spec *spec,
			   const char *volume, const char *image, struct engine_container *ret,
			   struct sbx_error *err)
{
	int r = -1;

	for (int i = 0; i < TRIES && r < 0; i++) {
		r = create_carrier(client, volume, image, ret, err);
		/* Engines differ in the number of it, and not in these words. */
		if (r < 0 && strstr(err->msg, "already in use") == NULL)
			return r;
		if (r < 0)
			wait_for_other(client, volume);
		if (r < 0 && engine_volume_is_whole(client, spec))
			return 0;
	}
	return r;
}

/* What others may be running already is not touched. */
static int fill(struct engine_client *client, const struct sbx_spec *spec, const char *volume,
		const struct engine_container *carrier, struct sbx_error *err)
{
	int r;

	if (engine_volume_is_whole(client, spec))
		return 0;
	r = put_files(client, spec, carrier, err);
	return r < 0 ? r : mark(client, volume, err);
}

int engine_volume_fill(struct engine_client *client, const struct sbx_spec *spec, const char *image,
		       struct sbx_error *err)
{
	struct engine_container carrier = {.asked = NULL};
	char volume[ENGINE_VOLUME_MAX];
	struct sbx_error ignored;
	int r;

	engine_volume_name(spec, volume);
	r = acquire_carrier(client, spec, volume, image, &carrier, err);
	if (r == 0 && carrier.id[0] != '\0') {
		r = fill(client, spec, volume, &carrier, err);
		engine_container_remove(client, &carrier, &ignored);
	}
	return r < 0 ? sbx_wrap(err, "cannot give the agent to the engine") : 0;
}
