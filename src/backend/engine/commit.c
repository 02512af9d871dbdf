/* SPDX-License-Identifier: MIT */
/*
 * A container kept as an image, under a name that nothing has: no image is ever overwritten. Which images
 * this user has made so is kept as empty files of their digests in the cache folder: a label comes with
 * every image, and passes on to those that are made of it, but nobody can make another image of the same
 * digest.
 */
#include "backend/engine/container.h"

#include "backend/engine/image.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/cache.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define COMMIT_MS (10 * 60 * 1000)
#define FOLDER	  "commits"
#define DIGITS	  64 /* of a digest */

/* ---- which are ours ---- */

/* Engines say "sha256:" before it or not; false: this is no digest. */
static bool find_digest(const char *id, char ret[DIGITS + 1])
{
	static const char kind[] = "sha256:";
	size_t skip = strncmp(id, kind, strlen(kind)) == 0 ? strlen(kind) : 0;

	if (strspn(id + skip, "0123456789abcdef") != DIGITS || id[skip + DIGITS] != '\0')
		return false;
	memcpy(ret, id + skip, DIGITS + 1);
	return true;
}

/* Where there is no place for it, it will be told when the image is used. */
static void remember(const json_t *answer)
{
	const char *id = json_string_value(json_object_get(answer, "Id"));
	auto_close int folder_fd = -1, fd = -1;
	char digest[DIGITS + 1];

	if (id == NULL || !find_digest(id, digest))
		return;
	folder_fd = sbx_cache_open(FOLDER, true);
	if (folder_fd >= 0)
		fd = openat(folder_fd, digest, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static bool is_remembered(const char *id)
{
	auto_close int folder_fd = sbx_cache_open(FOLDER, false);
	char digest[DIGITS + 1];

	return folder_fd >= 0 && find_digest(id, digest) &&
	       faccessat(folder_fd, digest, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool engine_commit_is_of(const struct engine_client *client, const struct sbx_spec *spec,
			 const struct engine_image *image)
{
	const json_t *labels = json_object_get(image->config, "Labels");
	const char *label = json_string_value(json_object_get(labels, "llm-sandbox"));

	if (label == NULL || strcmp(label, "commit") != 0)
		return false;
	if (is_remembered(image->id))
		return true;
	if (!spec->container.commit && !engine_client_flavor(client)->fills_tmpfs)
		engine_say(spec,
			   "the image %.100s was not committed here: what it has in /sandbox and /home/sandbox is "
			   "not shown; --runtime-config '{\"mounts\": [{\"type\": \"volume\", \"target\": "
			   "\"/sandbox\"}]}' shows the first, without a limit on disk",
			   image->name);
	return false;
}

/* ---- names ---- */

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
	json_t *body = describe(config), *answer = NULL;
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
		r = engine_call(client, &request, &answer, err);
	if (r == 0)
		remember(answer);
	json_decref(body);
	json_decref(answer);
	return r < 0 ? sbx_wrap(err, "cannot commit the container to '%.200s'", name) : 0;
}
