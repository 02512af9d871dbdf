/* SPDX-License-Identifier: MIT */
/* An image made from a Containerfile. */
#include "backend/engine/image.h"

#include "backend/engine/context.h"
#include "base/auto.h"
#include "base/sha256.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BUILD_MS  (60 * 60 * 1000)
#define LINE_BYTES (1u << 20)

/* "stream" has pieces of lines; those of programs in the build end as they like. */
static void on_line(struct engine_lines *l, const json_t *object)
{
	const char *text = json_string_value(json_object_get(object, "stream"));

	if (text == NULL)
		text = json_string_value(json_object_get(object, "status"));
	if (text != NULL)
		engine_say(l->spec, "%s", text);
}

/*
 * The same folder has the same name each time, so that what was built before is replaced; two folders
 * that are called alike have not.
 */
static char *make_name(const char *folder)
{
	struct sbx_sha256 hash = SBX_SHA256_INIT;
	const char *slash = strrchr(folder, '/'), *from = slash ? slash + 1 : folder;
	char hex[SBX_SHA256_HEX], word[48], *name = NULL;
	size_t len = 0;

	for (; *from != '\0' && len < sizeof(word) - 1; from++) {
		if (isalnum((unsigned char)*from))
			word[len++] = (char)tolower((unsigned char)*from);
	}
	word[len] = '\0';
	sbx_sha256_add(&hash, folder, strlen(folder));
	sbx_sha256_hex(&hash, hex);
	if (asprintf(&name, "llm-sandbox-build/%s:%.12s", len > 0 ? word : "folder", hex) < 0)
		return NULL;
	return name;
}

void engine_append_escaped(struct sbx_buf *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (isalnum((unsigned char)*text) || strchr("-._~/", *text) != NULL)
			sbx_buf_append(out, text, 1);
		else
			sbx_buf_printf(out, "%%%02X", (unsigned char)*text);
	}
}

static int build(struct engine_client *client, const struct sbx_spec *spec, const char *file,
		 const char *name, const struct engine_context *context, struct sbx_error *err)
{
	struct engine_lines lines = {.spec = spec, .line = on_line, .rest = SBX_BUF_INIT(LINE_BYTES)};
	auto_buf struct sbx_buf path = SBX_BUF_INIT(8192);
	struct engine_request request = {.method = "POST", .raw = context->data,
					 .raw_len = context->len, .raw_type = "application/x-tar",
					 .timeout_ms = BUILD_MS, .on_piece = engine_lines_add,
					 .userdata = &lines};
	const char *platform = engine_image_platform(spec);
	int r;

	sbx_buf_puts(&path, "/build?rm=1&forcerm=1&dockerfile=");
	engine_append_escaped(&path, file);
	sbx_buf_puts(&path, "&t=");
	engine_append_escaped(&path, name);
	if (spec->container.pull == SBX_PULL_ALWAYS)
		sbx_buf_puts(&path, "&pull=1");
	if (platform != NULL)
		sbx_buf_printf(&path, "&platform=%s", platform);
	if (path.failed)
		return sbx_fail_errno(err, ENOMEM, "cannot build an image");
	request.path = path.data;
	engine_say(spec, "building the image %s", name);
	r = engine_call(client, &request, NULL, err);
	engine_lines_end(&lines);
	if (r == 0 && lines.problem[0] != '\0')
		r = sbx_fail(err, strstr(lines.problem, "no space left") ? SBX_E_LIMIT : SBX_E_INVALID,
			     "%.500s", lines.problem);
	return r;
}

static int pack_and_build(struct engine_client *client, const struct sbx_spec *spec,
			  const char *name, struct sbx_error *err)
{
	auto_free char *folder = strdup(spec->container.dockerfile);
	struct engine_context context = {0};
	char *slash;
	int r;

	if (folder == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot build an image");
	slash = strrchr(folder, '/');
	*slash = '\0';
	r = engine_context_pack(folder[0] ? folder : "/", slash + 1, &context, err);
	if (r == 0)
		r = build(client, spec, slash + 1, name, &context, err);
	engine_context_done(&context);
	return r;
}

int engine_image_build(struct engine_client *client, const struct sbx_spec *spec, char **ret,
		       bool *ret_is_new, struct sbx_error *err)
{
	const struct sbx_container *c = &spec->container;
	auto_free char *folder = strndup(c->dockerfile, (size_t)(strrchr(c->dockerfile, '/') - c->dockerfile));
	auto_free char *name = NULL;
	struct sbx_error ignored;
	json_t *before = NULL;
	int r;

	if (folder != NULL)
		name = c->tag ? strdup(c->tag) : make_name(folder);
	if (name == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot build an image");
	*ret_is_new = engine_image_inspect(client, name, &before, &ignored) < 0;
	json_decref(before);
	r = pack_and_build(client, spec, name, err);
	if (r < 0)
		return sbx_wrap(err, "cannot build an image from '%.256s'", c->dockerfile);
	*ret = take_ptr(name);
	return 0;
}
