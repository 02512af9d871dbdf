/* SPDX-License-Identifier: MIT */
#include "backend/engine/sets.h"

#include "backend/engine/known.h"
#include "backend/engine/labels.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LABEL_IMAGE	"llm-sandbox.image"
#define PURPOSE		"libraries"
#define PREFIX		"llm-sandbox-" PURPOSE "-"
#define DIGITS_MAX	96
#define STATUS_CONFLICT 409

/* {"name":["llm-sandbox-libraries-"]} */
#define LIST_PATH "/volumes?filters=%7B%22name%22%3A%5B%22" PREFIX "%22%5D%7D"

bool engine_sets_name(const char *image_id, char ret[ENGINE_SETS_VOLUME_MAX])
{
	static const char algorithm[] = "sha256:";
	size_t head = strncmp(image_id, algorithm, strlen(algorithm)) == 0 ? strlen(algorithm) : 0;
	const char *digits = image_id + head;
	size_t len = strlen(digits);

	/* What an engine says becomes a part of a path. */
	if (len < 32 || len > DIGITS_MAX || strspn(digits, "0123456789abcdef") != len)
		return false;
	snprintf(ret, ENGINE_SETS_VOLUME_MAX, PREFIX "%s", digits);
	return true;
}

/* A call about the volume of an image; false when it can have none. */
static bool format_path(const char *image_id, char *ret, size_t size)
{
	char name[ENGINE_SETS_VOLUME_MAX];

	return engine_sets_name(image_id, name) &&
	       snprintf(ret, size, "/volumes/%s", name) < (int)size;
}

/* Two that make one at the same time have the same one. */
int engine_sets_make(struct engine_client *client, const char *image_id, struct sbx_error *err)
{
	char name[ENGINE_SETS_VOLUME_MAX];
	json_t *body;
	int r;

	if (!engine_sets_name(image_id, name))
		return sbx_fail(err, SBX_E_PROTOCOL, "the engine does not say which image it is");
	if (engine_known_has_sets(engine_client_key(client), name))
		return 0;
	body = json_pack("{s:s, s:{s:s, s:s}}", "Name", name, "Labels", ENGINE_LABEL, PURPOSE, LABEL_IMAGE,
			 image_id);
	if (body == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot describe a volume");
	r = engine_call(client, &(struct engine_request){.method = "POST", .path = "/volumes/create",
							 .body = body},
			NULL, err);
	json_decref(body);
	if (r == 0)
		engine_known_add_sets(engine_client_key(client), name);
	return r;
}

int engine_sets_remove(struct engine_client *client, const char *image_id, struct sbx_error *err)
{
	struct engine_request request = {.method = "DELETE", .accept = 404};
	char path[ENGINE_SETS_VOLUME_MAX + 32];
	int r;

	if (!format_path(image_id, path, sizeof(path)))
		return 0;
	request.path = path;
	r = engine_call(client, &request, NULL, err);
	if (r < 0 && engine_status(client) == STATUS_CONFLICT)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "a container still uses the libraries of the image '%.80s'",
				image_id);
	return r;
}

static bool is_volume(const char *bind, const char *volume)
{
	size_t len = strlen(volume);

	return bind != NULL && strncmp(bind, volume, len) == 0 && bind[len] == ':';
}

bool engine_sets_are_shown(const json_t *asked, const char *volume)
{
	const json_t *binds = json_object_get(json_object_get(asked, "HostConfig"), "Binds");
	const json_t *item;
	size_t i;

	json_array_foreach(binds, i, item) {
		if (is_volume(json_string_value(item), volume))
			return true;
	}
	return false;
}

/* ---- the sweep ---- */

static bool has_image(struct engine_client *client, const char *image_id)
{
	struct engine_request request = {.method = "GET"};
	struct sbx_error ignored;
	char path[256];

	snprintf(path, sizeof(path), "/images/%s/json", image_id);
	request.path = path;
	/* What is not known to be gone is there. */
	return engine_call(client, &request, NULL, &ignored) == 0 || engine_status(client) != 404;
}

/*
 * The image of a volume; NULL: it is not ours. One that somebody has removed an engine makes anew for the next
 * container, without our labels; one with labels says the same as its name.
 */
static const char *image_of(const json_t *volume)
{
	const char *name = json_string_value(json_object_get(volume, "Name"));
	const json_t *labels = json_object_get(volume, "Labels");
	const char *image_id = json_string_value(json_object_get(labels, LABEL_IMAGE));
	char ours[ENGINE_SETS_VOLUME_MAX];

	if (name == NULL || strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return NULL;
	if (json_object_size(labels) == 0)
		image_id = name + strlen(PREFIX);
	return image_id != NULL && engine_sets_name(image_id, ours) && strcmp(name, ours) == 0 ? image_id : NULL;
}

void engine_sets_sweep(struct engine_client *client)
{
	struct engine_request request = {.method = "GET", .path = LIST_PATH};
	json_t *answer = NULL, *volume;
	struct sbx_error ignored;
	size_t i;

	if (engine_call(client, &request, &answer, &ignored) < 0)
		return;
	json_array_foreach(json_object_get(answer, "Volumes"), i, volume) {
		const char *image_id = image_of(volume);

		if (image_id != NULL && !has_image(client, image_id))
			engine_sets_remove(client, image_id, &ignored);
	}
	json_decref(answer);
}

/* ---- for core ---- */

static int tell_engine(const struct engine_flavor *flavor, char ret[SBX_ENGINE_MAX],
		       struct sbx_error *err)
{
	struct engine_client *client = NULL;
	int r = engine_client_open(&client, flavor, err);

	if (r < 0)
		return r;
	snprintf(ret, SBX_ENGINE_MAX, "%s", engine_client_address(client));
	engine_client_close(client);
	return 0;
}

static int exists(const struct engine_flavor *flavor, const char *image_id, bool *ret,
		  struct sbx_error *err)
{
	struct engine_request request = {.method = "GET", .accept = 404};
	char path[ENGINE_SETS_VOLUME_MAX + 32];
	struct engine_client *client = NULL;
	int r;

	*ret = false;
	if (!format_path(image_id, path, sizeof(path)))
		return 0;
	r = engine_client_open(&client, flavor, err);
	if (r < 0)
		return r;
	request.path = path;
	r = engine_call(client, &request, NULL, err);
	*ret = r == 0 && engine_status(client) != 404;
	engine_client_close(client);
	return r;
}

static int discard(const struct engine_flavor *flavor, const char *image_id, struct sbx_error *err)
{
	struct engine_client *client = NULL;
	int r = engine_client_open(&client, flavor, err);

	if (r < 0)
		return r;
	r = engine_sets_remove(client, image_id, err);
	engine_client_close(client);
	return r;
}

#define FUNCTIONS(flavor)                                                                         \
	static int flavor##_engine(char ret[SBX_ENGINE_MAX], struct sbx_error *err)               \
	{                                                                                         \
		return tell_engine(&engine_##flavor, ret, err);                                   \
	}                                                                                         \
	static int flavor##_exists(const char *image_id, bool *ret, struct sbx_error *err)        \
	{                                                                                         \
		return exists(&engine_##flavor, image_id, ret, err);                              \
	}                                                                                         \
	static int flavor##_discard(const char *image_id, struct sbx_error *err)                  \
	{                                                                                         \
		return discard(&engine_##flavor, image_id, err);                                  \
	}                                                                                         \
	const struct sbx_backend_sets engine_sets_##flavor = {.engine = flavor##_engine,          \
							      .exists = flavor##_exists,          \
							      .discard = flavor##_discard};

FUNCTIONS(docker)
FUNCTIONS(podman)
