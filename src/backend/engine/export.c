/* SPDX-License-Identifier: MIT */
#include "backend/engine/export.h"

#include "backend/engine/client.h"
#include "backend/engine/container.h"
#include "backend/engine/image.h"
#include "backend/engine/labels.h"
#include "backend/image_env.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define EXPORT_MS 1800000

/* ---- finding ---- */

static int look(struct engine_client *client, const char *name, json_t **ret, struct sbx_error *err)
{
	const struct engine_flavor *flavor = engine_client_flavor(client);
	int r = engine_image_inspect(client, name, ret, err);

	if (r < 0 && err->code == SBX_E_NOT_FOUND)
		return sbx_fail(err, SBX_E_NOT_FOUND, "%s has no image '%.200s'; pull it (%s pull %.200s)",
				flavor->title, name, flavor->name, name);
	return r;
}

int engine_find_image(const struct engine_flavor *flavor, const char *name,
		      char ret_id[SBX_IMAGE_ID_MAX], struct sbx_error *err)
{
	struct engine_client *client;
	json_t *image = NULL;
	int r = engine_client_open(&client, flavor, err);

	if (r < 0)
		return r;
	r = look(client, name, &image, err);
	if (r == 0)
		snprintf(ret_id, SBX_IMAGE_ID_MAX, "%s",
			 json_string_value(json_object_get(image, "Id")) ?: "");
	json_decref(image);
	engine_client_close(client);
	return r;
}

/* ---- its files ---- */

/* It is never started; that it would start our agent is how a sweep knows it for ours. */
static int create(struct engine_client *client, const char *image, struct engine_container *ret,
		  struct sbx_error *err)
{
	json_t *body = json_pack("{s:s, s:[s], s:[], s:o, s:{s:s}}", "Image", image, "Entrypoint",
				 ENGINE_AGENT_FOLDER "/agent", "Cmd", "Labels",
				 engine_labels("carrier", NULL), "HostConfig", "NetworkMode", "none");
	json_t *answer = NULL;
	int r;

	if (body == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot describe a container");
	r = engine_call(client,
			&(struct engine_request){
				.method = "POST", .path = "/containers/create", .body = body},
			&answer, err);
	if (r == 0 && !engine_container_take_id(answer, ret))
		r = sbx_fail(err, SBX_E_PROTOCOL, "the engine made a container and did not say which");
	json_decref(answer);
	json_decref(body);
	return r;
}

static int write_files(struct engine_client *client, const struct sbx_backend_export *export,
		       struct sbx_error *err)
{
	struct engine_request request = {.method = "GET",
					 .timeout_ms = EXPORT_MS,
					 .on_piece = export->write,
					 .userdata = export->userdata};
	struct engine_container container = {.asked = NULL};
	struct sbx_error ignored;
	char path[192];
	int r = create(client, export->image, &container, err);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/containers/%s/export", container.id);
	request.path = path;
	r = engine_call(client, &request, NULL, err);
	engine_container_remove(client, &container, &ignored);
	return r;
}

int engine_export_image(const struct engine_flavor *flavor, const struct sbx_backend_export *export,
			char ***ret_env, struct sbx_error *err)
{
	struct engine_client *client;
	json_t *image = NULL;
	int r = engine_client_open(&client, flavor, err);

	if (r < 0)
		return r;
	r = look(client, export->image, &image, err);
	if (r == 0)
		r = engine_image_check_platform(export->image, image, NULL, err);
	if (r == 0)
		r = write_files(client, export, err);
	if (r == 0)
		r = sbx_image_env_make(json_object_get(json_object_get(image, "Config"), "Env"), NULL,
				       ret_env, err);
	json_decref(image);
	engine_client_close(client);
	return r;
}
