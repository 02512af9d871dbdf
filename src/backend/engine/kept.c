/* SPDX-License-Identifier: MIT */
#include "backend/engine/kept.h"

#include "backend/engine/client.h"
#include "backend/engine/export.h"
#include "backend/engine/image.h"
#include "backend/engine/words.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define IMPORT_MS   1800000
#define LABEL	    "llm-sandbox.image"
#define LABEL_TOOLS "llm-sandbox.image.tools"
#define ANSWER_MAX  65536
#define PATH_BYTES  32768 /* of the address of a request */
#define VALUE_MAX   4096
#define REMOVE_MS   5000
#define STATUS_CONFLICT 409

/* ---- list ---- */

/* Podman has the registry that it takes a short name for before it. */
static const char *our_name(const char *tag)
{
	const char *at = tag ? strstr(tag, "llm-sandbox/") : NULL;

	return at != NULL && (at == tag || at[-1] == '/') ? at : tag;
}

static void tell(const json_t *image, void (*each)(const struct sbx_backend_image *, void *),
		 void *userdata)
{
	const json_t *tags = json_object_get(image, "RepoTags");
	const char *tools = json_string_value(
		json_object_get(json_object_get(image, "Labels"), LABEL_TOOLS));
	const char *name = our_name(json_string_value(json_array_get(tags, 0)));
	json_int_t size = json_integer_value(json_object_get(image, "Size"));
	json_int_t made = json_integer_value(json_object_get(image, "Created"));

	if (name == NULL)
		return;
	each(&(struct sbx_backend_image){.name = name,
					 .tools = tools ? tools : "",
					 .id = json_string_value(json_object_get(image, "Id")) ?: "",
					 .bytes = size < 0 ? 0 : (uint64_t)size,
					 .made = made < 0 ? 0 : (uint64_t)made},
	     userdata);
}

static int list(const struct engine_flavor *flavor,
		void (*each)(const struct sbx_backend_image *, void *), void *userdata,
		struct sbx_error *err)
{
	static const struct engine_request request = {
		.method = "GET",
		.path = "/images/json?filters=%7B%22label%22%3A%5B%22" LABEL "%22%5D%7D",
	};
	struct engine_client *client;
	json_t *images = NULL;
	const json_t *image;
	size_t i;
	int r = engine_client_open(&client, flavor, err);

	if (r < 0)
		return r;
	r = engine_call(client, &request, &images, err);
	json_array_foreach (images, i, image)
		tell(image, each, userdata);
	json_decref(images);
	engine_client_close(client);
	return r;
}

/* ---- import ---- */

struct answer {
	char text[ANSWER_MAX];
	size_t len;
};

static int keep_piece(const void *data, size_t len, void *userdata, struct sbx_error *err)
{
	struct answer *a = userdata;
	size_t room = sizeof(a->text) - 1 - a->len;

	(void)err;
	len = len < room ? len : room;
	memcpy(a->text + a->len, data, len);
	a->len += len;
	a->text[a->len] = '\0';
	return 0;
}

/* JSON objects, one behind the other; one with "error" says that it failed. */
static int check_answer(const struct answer *a, const struct engine_flavor *flavor,
			struct sbx_error *err)
{
	const char *at = a->text;
	char words[ENGINE_WORDS_MAX];
	json_error_t where;
	json_t *object;
	int r = 0;

	while (r == 0 && (object = json_loads(at, JSON_DISABLE_EOF_CHECK, &where)) != NULL) {
		const char *problem = json_string_value(json_object_get(object, "error"));

		if (problem != NULL)
			r = sbx_fail(err, SBX_E_UNAVAILABLE, "%s could not import the image: %s",
				     flavor->title,
				     engine_words_clean(problem, strlen(problem), words, sizeof(words)));
		json_decref(object);
		at += where.position;
	}
	return r;
}

/* An instruction of a Containerfile, as a parameter of the query. */
static void add_change(struct sbx_buf *path, const char *text)
{
	sbx_buf_puts(path, "&changes=");
	engine_append_escaped(path, text);
}

/* As a word in quotes, where nothing means anything but itself. */
static void add_quoted(const struct engine_flavor *flavor, struct sbx_buf *change, const char *text)
{
	const char *special = flavor->takes_quotes_off ? "" : "\"\\$";

	sbx_buf_puts(change, "\"");
	for (; *text != '\0'; text++)
		sbx_buf_printf(change, strchr(special, *text) ? "\\%c" : "%c", *text);
	sbx_buf_puts(change, "\"");
}

/* A value of more lines than one cannot be said, nor a name with more than names have. */
static void add_variable(const struct engine_flavor *flavor, struct sbx_buf *path,
			 const char *variable)
{
	auto_buf struct sbx_buf change = SBX_BUF_INIT(VALUE_MAX);
	size_t len = strspn(variable, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	if (len == 0 || variable[len] != '=' || strchr(variable, '\n') != NULL)
		return;
	sbx_buf_printf(&change, "ENV %.*s=", (int)len, variable);
	add_quoted(flavor, &change, variable + len + 1);
	if (!change.failed)
		add_change(path, change.data);
}

static int write_path(const struct engine_flavor *flavor, const struct sbx_backend_import *image,
		      struct sbx_buf *path, struct sbx_error *err)
{
	char label[1024];

	sbx_buf_printf(path, "/images/create?fromSrc=-&repo=llm-sandbox%%2F%s&tag=latest", image->name);
	add_change(path, "USER sandbox");
	add_change(path, "WORKDIR /sandbox");
	add_change(path, "LABEL " LABEL "=1");
	snprintf(label, sizeof(label), "LABEL " LABEL_TOOLS "=\"%.900s\"", image->tools);
	add_change(path, label);
	for (size_t i = 0; image->env != NULL && image->env[i] != NULL; i++)
		add_variable(flavor, path, image->env[i]);
	return path->failed ? sbx_fail(err, SBX_E_LIMIT, "the image's variables are too long to import it") : 0;
}

static int import(const struct engine_flavor *flavor, const struct sbx_backend_import *image,
		  struct sbx_error *err)
{
	auto_free struct answer *answer = calloc(1, sizeof(*answer));
	auto_buf struct sbx_buf path = SBX_BUF_INIT(PATH_BYTES);
	struct sbx_error ignored;
	json_t *before = NULL;
	char name[96];
	struct engine_request request = {
		.method = "POST",
		.raw_type = "application/x-tar",
		.raw_len = image->bytes,
		.fill = image->read,
		.fill_data = image->userdata,
		.timeout_ms = IMPORT_MS,
		.on_piece = keep_piece,
		.userdata = answer,
	};
	struct engine_client *client;
	int r;

	if (answer == NULL)
		return sbx_fail(err, SBX_E_SYSTEM, "cannot import an image: out of memory");
	r = engine_client_open(&client, flavor, err);
	if (r < 0)
		return r;
	/* Whatever the variable led to. */
	r = write_path(engine_client_flavor(client), image, &path, err);
	request.path = path.data;
	snprintf(name, sizeof(name), "llm-sandbox/%.64s:latest", image->name);
	engine_image_inspect(client, name, &before, &ignored);
	if (r == 0)
		r = engine_call(client, &request, NULL, err);
	if (r == 0)
		r = check_answer(answer, flavor, err);
	if (r == 0)
		engine_image_drop(client, before);
	json_decref(before);
	engine_client_close(client);
	return r;
}

/* ---- remove ---- */

/* Containers end off their callers' path: one that was just closed may hold the image for a moment. */
static int remove_unused(struct engine_client *client, const struct engine_request *request,
			 struct sbx_error *err)
{
	uint64_t deadline = sbx_deadline_ns(REMOVE_MS);
	int r;

	while ((r = engine_call(client, request, NULL, err)) < 0 &&
	       engine_status(client) == STATUS_CONFLICT && sbx_now_ns() < deadline)
		poll(NULL, 0, 100);
	return r;
}

static int remove_image(const struct engine_flavor *flavor, const char *name, struct sbx_error *err)
{
	struct engine_request request = {.method = "DELETE"};
	struct engine_client *client;
	char path[256];
	int r = engine_client_open(&client, flavor, err);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/images/llm-sandbox/%.64s:latest", name);
	request.path = path;
	r = remove_unused(client, &request, err);
	engine_client_close(client);
	if (r < 0 && err->code == SBX_E_NOT_FOUND)
		return sbx_fail(err, SBX_E_NOT_FOUND, "%s has no image 'llm-sandbox/%s'", flavor->title, name);
	return r;
}

#define FUNCTIONS(flavor)                                                                         \
	static int flavor##_list(void (*each)(const struct sbx_backend_image *, void *),          \
				 void *userdata, struct sbx_error *err)                           \
	{                                                                                         \
		return list(&engine_##flavor, each, userdata, err);                               \
	}                                                                                         \
	static int flavor##_import(const struct sbx_backend_import *image, struct sbx_error *err) \
	{                                                                                         \
		return import(&engine_##flavor, image, err);                                      \
	}                                                                                         \
	static int flavor##_remove(const char *name, struct sbx_error *err)                       \
	{                                                                                         \
		return remove_image(&engine_##flavor, name, err);                                 \
	}                                                                                         \
	static int flavor##_find(const char *image, char ret_id[SBX_IMAGE_ID_MAX],                \
				 struct sbx_error *err)                                           \
	{                                                                                         \
		return engine_find_image(&engine_##flavor, image, ret_id, err);                   \
	}                                                                                         \
	static int flavor##_export(const struct sbx_backend_export *export, char ***ret_env,      \
				   struct sbx_error *err)                                         \
	{                                                                                         \
		return engine_export_image(&engine_##flavor, export, ret_env, err);               \
	}                                                                                         \
	const struct sbx_backend_images engine_images_##flavor = {                                \
		.list = flavor##_list, .import = flavor##_import, .remove = flavor##_remove,      \
		.find = flavor##_find, .export = flavor##_export};

FUNCTIONS(docker)
FUNCTIONS(podman)
