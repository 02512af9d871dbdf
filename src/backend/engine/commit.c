/* SPDX-License-Identifier: MIT */
/* A container kept as an image, under a name that nothing has: no image is ever overwritten. */
#include "backend/engine/container.h"

#include "backend/engine/image.h"
#include "base/auto.h"
#include "base/buf.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define COMMIT_MS (10 * 60 * 1000)

/* "llm-sandbox-commit/python:0123456789ab", after the image it comes from. */
static int make_fresh(const char *image, char **ret, struct sbx_error *err)
{
	const char *slash = strrchr(image, '/'), *from = slash ? slash + 1 : image;
	unsigned char random[6];
	char word[48];
	size_t len = 0;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return sbx_fail_errno(err, errno, "cannot name the image of a commit");
	for (; *from != '\0' && *from != ':' && *from != '@' && len < sizeof(word) - 1; from++) {
		if (isalnum((unsigned char)*from))
			word[len++] = (char)tolower((unsigned char)*from);
	}
	word[len] = '\0';
	if (asprintf(ret, "llm-sandbox-commit/%s:%02x%02x%02x%02x%02x%02x", len > 0 ? word : "image",
		     random[0], random[1], random[2], random[3], random[4], random[5]) < 0) {
		*ret = NULL;
		return sbx_fail_errno(err, ENOMEM, "cannot name the image of a commit");
	}
	return 0;
}

int engine_commit_name(struct engine_client *client, const struct sbx_spec *spec, const char *image,
		       char **ret, struct sbx_error *err)
{
	const char *wished = spec->container.commit_tag;
	json_t *there = NULL;
	int r;

	if (wished == NULL)
		return make_fresh(image, ret, err);
	r = engine_image_inspect(client, wished, &there, err);
	json_decref(there);
	if (r == 0)
		return sbx_fail(err, SBX_E_INVALID,
				"there is an image '%.200s' already, and a commit overwrites none; choose "
				"another name",
				wished);
	if (err->code != SBX_E_NOT_FOUND)
		return r;
	*ret = strdup(wished);
	return *ret ? 0 : sbx_fail_errno(err, ENOMEM, "cannot name the image of a commit");
}

/* A line of a Containerfile. */
static void add_change(struct sbx_buf *out, const char *word, const char *value)
{
	sbx_buf_printf(out, "&changes=%s%%20", word);
	engine_append_escaped(out, value);
}

static void add_list(struct sbx_buf *out, const char *word, const json_t *list)
{
	auto_free char *text = json_is_array(list) ? json_dumps(list, JSON_COMPACT) : NULL;

	add_change(out, word, text ? text : "[]");
}

/*
 * How the image starts is as it was before us: what is not said the engine takes from the container,
 * whose first process is the agent, and whose labels say that it is ours.
 */
static json_t *describe(const json_t *config)
{
	json_t *body = json_is_object(config) ? json_deep_copy(config) : json_object();
	json_t *labels = json_object_get(body, "Labels");

	if (!json_is_array(json_object_get(body, "Entrypoint")))
		json_object_set_new(body, "Entrypoint", json_array());
	if (!json_is_object(labels)) {
		labels = json_object();
		json_object_set_new(body, "Labels", labels);
	}
	json_object_set_new(labels, "llm-sandbox", json_string("commit"));
	json_object_set_new(labels, "llm-sandbox.owner", json_string(""));
	return body;
}

/* The same, for an engine that takes it in lines of a Containerfile. */
static void add_changes(struct sbx_buf *out, const json_t *config)
{
	const char *user = json_string_value(json_object_get(config, "User"));
	const char *folder = json_string_value(json_object_get(config, "WorkingDir"));

	add_list(out, "ENTRYPOINT", json_object_get(config, "Entrypoint"));
	if (json_array_size(json_object_get(config, "Cmd")) > 0)
		add_list(out, "CMD", json_object_get(config, "Cmd"));
	if (user != NULL && user[0] != '\0')
		add_change(out, "USER", user);
	if (folder != NULL && folder[0] != '\0')
		add_change(out, "WORKDIR", folder);
	add_change(out, "LABEL", "llm-sandbox=commit");
	add_change(out, "LABEL", "llm-sandbox.owner=");
}

int engine_commit(struct engine_client *client, const struct engine_container *container,
		  const json_t *config, const char *name, struct sbx_error *err)
{
	const char *slash = strrchr(name, '/'), *tag = strrchr(slash ? slash : name, ':');
	auto_buf struct sbx_buf path = SBX_BUF_INIT(1u << 20);
	struct engine_request request = {.method = "POST", .timeout_ms = COMMIT_MS};
	json_t *body = describe(config);
	int r;

	sbx_buf_printf(&path, "/commit?container=%s&pause=0&repo=%.*s&tag=%s", container->id,
		       (int)(tag ? tag - name : (int)strlen(name)), name, tag ? tag + 1 : "latest");
	if (engine_client_flavor(client)->commit_by_changes)
		add_changes(&path, config);
	request.path = path.data;
	request.body = body;
	if (path.failed || body == NULL)
		r = sbx_fail_errno(err, ENOMEM, "cannot describe the image");
	else
		r = engine_call(client, &request, NULL, err);
	json_decref(body);
	return r < 0 ? sbx_wrap(err, "cannot commit the container to '%.200s'", name) : 0;
}
