/* SPDX-License-Identifier: MIT */
#include "backend/engine/container.h"

#include "backend/engine/labels.h"
#include "backend/engine/tar.h"
#include "base/buf.h"
#include "base/sha256.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ARCHIVE_MAX (16u << 20)

extern const char sbx_agent_image_start[];
extern const char sbx_agent_image_end[];

static pthread_once_t named = PTHREAD_ONCE_INIT;
static char name[64];

static size_t agent_size(void)
{
	return (size_t)(sbx_agent_image_end - sbx_agent_image_start);
}

static void make_name(void)
{
	struct sbx_sha256 hash = SBX_SHA256_INIT;
	char hex[SBX_SHA256_HEX];

	sbx_sha256_add(&hash, sbx_agent_image_start, agent_size());
	sbx_sha256_hex(&hash, hex);
	snprintf(name, sizeof(name), "llm-sandbox-agent-%.16s", hex);
}

const char *engine_volume_name(void)
{
	pthread_once(&named, make_name);
	return name;
}

void engine_volume_pack(struct sbx_buf *tar, const char *path)
{
	engine_tar_add(tar, path, 0755, sbx_agent_image_start, agent_size());
	engine_tar_end(tar);
}

/* A container that has the volume, and whose image need not have any program. */
static int create_carrier(struct engine_client *client, const char *image,
			  struct engine_container *ret, struct sbx_error *err)
{
	json_t *answer = NULL, *body;
	int r;

	body = json_pack("{s:s, s:[s], s:[], s:o, s:{s:[o], s:s}}", "Image", image, "Entrypoint",
			 ENGINE_AGENT_FOLDER "/agent", "Cmd",
			 "Labels", engine_labels("carrier", NULL), "HostConfig", "Binds",
			 json_sprintf("%s:%s", engine_volume_name(), ENGINE_AGENT_FOLDER), "NetworkMode",
			 "none");
	if (body == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot describe a container");
	r = engine_call(client, &(struct engine_request){.method = "POST", .path = "/containers/create",
							 .body = body},
			&answer, err);
	json_decref(body);
	if (r == 0)
		snprintf(ret->id, sizeof(ret->id), "%s", json_string_value(json_object_get(answer, "Id")) ?: "");
	json_decref(answer);
	return r;
}

static int put_agent(struct engine_client *client, const struct engine_container *carrier,
		     struct sbx_error *err)
{
	auto_buf struct sbx_buf tar = SBX_BUF_INIT(ARCHIVE_MAX);

	engine_volume_pack(&tar, "agent");
	return engine_container_put(client, carrier, ENGINE_AGENT_FOLDER, &tar, err);
}

int engine_volume_fill(struct engine_client *client, const char *image, struct sbx_error *err)
{
	struct engine_container carrier = {.asked = NULL};
	struct sbx_error ignored;
	int r = create_carrier(client, image, &carrier, err);

	if (r < 0)
		return r;
	r = put_agent(client, &carrier, err);
	engine_container_remove(client, &carrier, &ignored);
	return r < 0 ? sbx_wrap(err, "cannot give the agent to the engine") : 0;
}
