/* SPDX-License-Identifier: MIT */
#include "backend/engine/image.h"

#include "backend/engine/words.h"
#include "base/auto.h"
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#define AGENT_ARCH "amd64"
#elif defined(__aarch64__)
#define AGENT_ARCH "arm64"
#elif defined(__riscv)
#define AGENT_ARCH "riscv64"
#elif defined(__powerpc64__)
#define AGENT_ARCH "ppc64le"
#elif defined(__s390x__)
#define AGENT_ARCH "s390x"
#else
#error "name this architecture as images do"
#endif

void engine_image_done(struct engine_image *image)
{
	free(image->name);
	json_decref(image->config);
	*image = (struct engine_image){0};
}

const char *engine_image_platform(const struct sbx_spec *spec)
{
	return json_string_value(json_object_get(spec->container.runtime, "platform"));
}

/* ---- progress ---- */

void engine_say(const struct sbx_spec *spec, const char *fmt, ...)
{
	char text[ENGINE_WORDS_MAX + 8], line[ENGINE_WORDS_MAX];
	va_list ap;

	if (spec->container.on_progress == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* A terminal takes control characters for more than text; whoever built may have written them. */
	engine_words_clean(text, strlen(text), line, sizeof(line));
	if (line[0] != '\0')
		spec->container.on_progress(line, spec->container.userdata);
}

static void take_line(struct engine_lines *l, const char *text, size_t len)
{
	json_t *object = json_loadb(text, len, 0, NULL);
	const char *problem = json_string_value(json_object_get(object, "error"));

	if (problem == NULL)
		problem = json_string_value(
			json_object_get(json_object_get(object, "errorDetail"), "message"));
	if (problem != NULL)
		engine_words_clean(problem, strlen(problem), l->problem, sizeof(l->problem));
	else if (object != NULL)
		l->line(l, object);
	json_decref(object);
}

int engine_lines_add(const void *data, size_t len, void *userdata, struct sbx_error *err)
{
	struct engine_lines *l = userdata;
	const char *end;

	sbx_buf_append(&l->rest, data, len);
	if (l->rest.failed)
		return sbx_fail(err, SBX_E_PROTOCOL, "the engine tells of its progress in endless lines");
	while (l->rest.data != NULL && (end = memchr(l->rest.data, '\n', l->rest.len)) != NULL) {
		size_t n = (size_t)(end - l->rest.data);

		take_line(l, l->rest.data, n);
		sbx_buf_consume(&l->rest, n + 1);
	}
	return 0;
}

void engine_lines_end(struct engine_lines *l)
{
	if (l->rest.len > 0)
		take_line(l, l->rest.data, l->rest.len);
	sbx_buf_done(&l->rest);
}

/* ---- looking ---- */

int engine_image_inspect(struct engine_client *client, const char *name, json_t **ret,
			 struct sbx_error *err)
{
	char path[640];

	snprintf(path, sizeof(path), "/images/%s/json", name);
	return engine_call(client, &(struct engine_request){.method = "GET", .path = path}, ret, err);
}

/* The same, with NULL for what is not there. */
static int find(struct engine_client *client, const char *name, json_t **ret, struct sbx_error *err)
{
	int r = engine_image_inspect(client, name, ret, err);

	return r < 0 && err->code == SBX_E_NOT_FOUND ? 0 : r;
}

int engine_image_check_platform(const char *name, const json_t *image, const char *wished,
				struct sbx_error *err)
{
	const char *os = json_string_value(json_object_get(image, "Os")) ?: "linux";
	const char *arch = json_string_value(json_object_get(image, "Architecture")) ?: AGENT_ARCH;
	char is[96];

	snprintf(is, sizeof(is), "%.40s/%.40s", os, arch);
	if (wished != NULL && strncmp(wished, is, strlen(is)) != 0)
		return sbx_fail(err, SBX_E_INVALID,
				"the image '%.200s' is for %s, and not for the platform %.64s that was asked for",
				name, is, wished);
	if (strcmp(is, "linux/" AGENT_ARCH) == 0)
		return 0;
	return sbx_fail(err, SBX_E_INVALID,
			"the image '%.200s' is for %s, and this program is for linux/" AGENT_ARCH
			"; name an image for linux/" AGENT_ARCH,
			name, is);
}

/* What was found becomes what is got; takes image. */
static int accept(const struct sbx_spec *spec, const char *name, json_t *image,
		  struct engine_image *ret, struct sbx_error *err)
{
	int r = engine_image_check_platform(name, image, engine_image_platform(spec), err);

	if (r == 0 && ret->name == NULL && (ret->name = strdup(name)) == NULL)
		r = sbx_fail_errno(err, ENOMEM, "cannot name an image");
	if (r == 0)
		ret->config = json_incref(json_object_get(image, "Config"));
	if (r == 0)
		snprintf(ret->id, sizeof(ret->id), "%s", json_string_value(json_object_get(image, "Id")) ?: "");
	json_decref(image);
	return r;
}

/* ---- getting ---- */

static int pull(struct engine_client *client, const struct sbx_spec *spec, const char *name,
		struct engine_image *ret, struct sbx_error *err)
{
	auto_free char *before = NULL;
	json_t *image = NULL;
	int r = find(client, name, &image, err);

	if (r < 0)
		return r;
	before = image ? strdup(json_string_value(json_object_get(image, "Id")) ?: "") : NULL;
	json_decref(image);
	r = engine_image_pull(client, spec, name, err);
	if (r == 0)
		r = engine_image_inspect(client, name, &image, err);
	if (r < 0)
		return r;
	/* One that was here before is not ours to remove. */
	ret->made_here = before == NULL;
	r = accept(spec, name, image, ret, err);
	if (r < 0 && ret->made_here)
		engine_image_remove(client, name);
	return r;
}

static int fail_missing(const struct engine_client *client, const char *name, struct sbx_error *err)
{
	const struct engine_flavor *flavor = engine_client_flavor(client);

	return sbx_fail(err, SBX_E_NOT_FOUND,
			"%s has no image '%.200s', and it is not to be pulled; do so (%s pull %.200s), or "
			"name another",
			flavor->title, name, flavor->name, name);
}

static int get_named(struct engine_client *client, const struct sbx_spec *spec, const char *name,
		     struct engine_image *ret, struct sbx_error *err)
{
	json_t *image = NULL;
	int r = spec->container.pull == SBX_PULL_ALWAYS ? 0 : find(client, name, &image, err);

	if (r < 0)
		return r;
	if (image != NULL)
		return accept(spec, name, image, ret, err);
	if (spec->container.pull == SBX_PULL_NEVER)
		return fail_missing(client, name, err);
	return pull(client, spec, name, ret, err);
}

/* Nothing is named: ours, which is never pulled, and else the public one. */
static int get_choice(struct engine_client *client, const struct sbx_spec *spec,
		      struct engine_image *ret, struct sbx_error *err)
{
	char *const *choices = spec->container.choices;
	json_t *image = NULL;
	int r;

	if (choices[1] == NULL)
		return get_named(client, spec, choices[0], ret, err);
	r = find(client, choices[0], &image, err);
	if (r < 0)
		return r;
	if (image != NULL)
		return accept(spec, choices[0], image, ret, err);
	r = get_named(client, spec, choices[1], ret, err);
	if (r < 0)
		sbx_wrap(err,
			 "no image is named, and there is none of ours, '%.100s' (llm-sandbox image build "
			 "makes it); of the public one",
			 choices[0]);
	return r;
}

static int get_built(struct engine_client *client, const struct sbx_spec *spec,
		     struct engine_image *ret, struct sbx_error *err)
{
	json_t *image = NULL;
	int r = engine_image_build(client, spec, ret, err);

	if (r < 0)
		return r;
	r = engine_image_inspect(client, engine_image_reference(ret), &image, err);
	if (r == 0)
		r = accept(spec, ret->name, image, ret, err);
	if (r < 0 && ret->made_here)
		engine_image_undo(client, ret);
	return r;
}

int engine_image_get(struct engine_client *client, const struct sbx_spec *spec,
		     struct engine_image *ret, struct sbx_error *err)
{
	const struct sbx_container *c = &spec->container;
	struct engine_image image = {0};
	int r;

	if (c->dockerfile != NULL)
		r = get_built(client, spec, &image, err);
	else if (c->image != NULL)
		r = get_named(client, spec, c->image, &image, err);
	else if (c->choices[0] != NULL)
		r = get_choice(client, spec, &image, err);
	else
		r = sbx_fail(err, SBX_E_INVALID, "there is no image to make a container of; name one");
	if (r < 0)
		engine_image_done(&image);
	else
		*ret = image;
	return r;
}

const char *engine_image_name(const struct sbx_spec *spec)
{
	const struct sbx_container *c = &spec->container;

	if (c->dockerfile != NULL)
		return c->tag ? c->tag : "(what is built)";
	return c->image ? c->image : c->choices[0] ? c->choices[0] : "";
}

void engine_image_remove(struct engine_client *client, const char *name)
{
	struct engine_request request = {.method = "DELETE"};
	struct sbx_error ignored;
	char path[640];

	snprintf(path, sizeof(path), "/images/%s", name);
	request.path = path;
	engine_call(client, &request, NULL, &ignored);
}

const char *engine_image_reference(const struct engine_image *image)
{
	return image->was_built && image->id[0] != '\0' ? image->id : image->name;
}

/* Some engines leave out what kind of digest it is. */
static bool is_same_id(const char *a, const char *b)
{
	const char *colon = strchr(a, ':');

	a = colon ? colon + 1 : a;
	colon = strchr(b, ':');
	return strcmp(a, colon ? colon + 1 : b) == 0;
}

void engine_image_undo(struct engine_client *client, const struct engine_image *image)
{
	struct sbx_error ignored;
	json_t *now = NULL, *mine;
	bool is_mine;

	if (!image->was_built || image->id[0] == '\0') {
		engine_image_remove(client, image->name);
		return;
	}
	is_mine = engine_image_inspect(client, image->name, &now, &ignored) == 0 &&
		  is_same_id(json_string_value(json_object_get(now, "Id")) ?: "", image->id);
	mine = json_pack("{s:s}", "Id", image->id);
	if (is_mine)
		engine_image_remove(client, image->name);
	else
		engine_image_drop(client, mine);
	json_decref(now);
	json_decref(mine);
}

void engine_image_drop(struct engine_client *client, const json_t *before)
{
	const char *id = json_string_value(json_object_get(before, "Id"));
	struct sbx_error ignored;
	json_t *now = NULL;

	if (id == NULL || strlen(id) > 100 || engine_image_inspect(client, id, &now, &ignored) < 0)
		return;
	if (json_array_size(json_object_get(now, "RepoTags")) == 0)
		engine_image_remove(client, id);
	json_decref(now);
}
