/* SPDX-License-Identifier: MIT */
/* A container kept as an image, under a name that nothing has: no image is ever overwritten. */
#include "backend/engine/container.h"

#include "backend/engine/image.h"
#include "base/auto.h"

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

int engine_commit(struct engine_client *client, const struct engine_container *container,
		  const json_t *config, const char *name, struct sbx_error *err)
{
	struct engine_request request = {.method = "POST", .timeout_ms = COMMIT_MS};
	const char *slash = strrchr(name, '/'), *tag = strrchr(slash ? slash : name, ':');
	json_t *body = config ? json_deep_copy(config) : json_object();
	char path[1024];
	int r;

	if (body == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot commit a container");
	snprintf(path, sizeof(path), "/commit?container=%s&pause=0&repo=%.*s&tag=%s", container->id,
		 (int)(tag ? tag - name : (int)strlen(name)), name, tag ? tag + 1 : "latest");
	request.path = path;
	request.body = body;
	r = engine_call(client, &request, NULL, err);
	json_decref(body);
	return r < 0 ? sbx_wrap(err, "cannot commit the container to '%.200s'", name) : 0;
}
