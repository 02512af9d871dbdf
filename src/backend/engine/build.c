/* SPDX-License-Identifier: MIT */
/* An image made from a Containerfile. */
#include "backend/engine/image.h"

#include "backend/engine/context.h"
#include "backend/engine/words.h"
#include "base/auto.h"
#include "base/sha256.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BUILD_MS  (60 * 60 * 1000)
#define LINE_BYTES (1u << 20)

/* What is going on, for the sentence that says why it went no further. */
struct building {
	struct engine_lines lines;
	char step[160]; /* "Step 2/3 : RUN make" */
	char said[320]; /* the end of what its program has said */
	char id[ENGINE_IMAGE_ID_MAX]; /* of what was built, or "" */
};

/* Both engines say "Step N/M : INSTRUCTION", each in its own case. */
static bool is_step(const char *text)
{
	return strncasecmp(text, "step ", 5) == 0 && isdigit((unsigned char)text[5]);
}

/* What engines say about their own work begins so. */
static bool is_of_engine(const char *text)
{
	text += strspn(text, " ");
	return strncmp(text, "-->", 3) == 0 || strncmp(text, "--->", 4) == 0 ||
	       strncmp(text, "Removing intermediate", 21) == 0;
}

static void keep_said(struct building *b, const char *text)
{
	size_t more = strlen(text), len = strlen(b->said), most = sizeof(b->said) - 1;

	if (more > most)
		text += more - most, more = most;
	if (len + more > most) {
		size_t drop = len + more - most;

		memmove(b->said, b->said + drop, len - drop + 1);
		len -= drop;
	}
	memcpy(b->said + len, text, more + 1);
}

/* It becomes a part of paths. */
static bool is_id(const char *text)
{
	static const char kind[] = "sha256:";
	size_t len = strlen(kind);

	return strncmp(text, kind, len) == 0 && strlen(text + len) == 64 &&
	       strspn(text + len, "0123456789abcdef") == 64;
}

/* "stream" has pieces of lines; those of programs in the build end as they like. */
static void on_line(struct engine_lines *l, const json_t *object)
{
	struct building *b = (struct building *)l;
	const char *text = json_string_value(json_object_get(object, "stream"));
	const char *id = json_string_value(json_object_get(json_object_get(object, "aux"), "ID"));

	if (id != NULL && is_id(id))
		snprintf(b->id, sizeof(b->id), "%s", id);
	if (text != NULL && is_step(text)) {
		snprintf(b->step, sizeof(b->step), "%s", text);
		b->said[0] = '\0';
	} else if (text != NULL && !is_of_engine(text)) {
		keep_said(b, text);
	}
	if (text == NULL)
		text = json_string_value(json_object_get(object, "status"));
	if (text != NULL)
		engine_say(l->spec, "%s", text);
}

/* The engine's words first, then where that was, and what was said there last. */
static int fail_build(const struct building *b, struct sbx_error *err)
{
	char step[sizeof(b->step)], said[sizeof(b->said)];
	const char *problem = b->lines.problem;

	engine_words_clean(b->step, strlen(b->step), step, sizeof(step));
	engine_words_clean(b->said, strlen(b->said), said, sizeof(said));
	return sbx_fail(err, strstr(problem, "no space left") ? SBX_E_LIMIT : SBX_E_INVALID,
			"%.160s%s%.100s%s%.140s", problem, step[0] ? "; in " : "", step,
			said[0] ? ", which said at last: " : "",
			said[0] && strlen(said) > 140 ? said + strlen(said) - 140 : said);
}

/* ---- what needs another builder ---- */

/* "<<EOF", "<<-EOF", "<<'EOF'" as a word of its own. */
static bool has_here_document(const char *line)
{
	for (const char *at = line; (at = strstr(at, "<<")) != NULL; at += 2) {
		const char *word = at + 2;

		word += *word == '-';
		word += *word == '"' || *word == '\'';
		if (at > line && strchr(" \t", at[-1]) != NULL && (isalpha((unsigned char)*word) || *word == '_'))
			return true;
	}
	return false;
}

/* The number of the first such line, or 0. */
static int find_here_document(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[4096];
	int number = 0, found = 0;

	while (f != NULL && found == 0 && fgets(line, sizeof(line), f) != NULL) {
		number++;
		if (has_here_document(line))
			found = number;
	}
	if (f != NULL)
		fclose(f);
	return found;
}

/* An engine that does not know them reads the text that follows as instructions. */
static int explain(const struct engine_client *client, const char *path, int r, struct sbx_error *err)
{
	int line = find_here_document(path);

	if (line == 0)
		return r;
	return sbx_wrap(err,
			"line %d has a here-document, which the builder of this %s does not know; put the text "
			"into a file and COPY it, or build the image yourself and name it", line,
			engine_client_flavor(client)->title);
}

/* ---- names ---- */

/*
 * The same file has the same name each time, so that what was built before is replaced; two of folders
 * that are called alike have not.
 */
static char *make_name(const struct sbx_container *c, const char *folder)
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
	sbx_sha256_add(&hash, c->dockerfile, strlen(c->dockerfile) + 1);
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

/* ---- building ---- */

/* What we name ourselves is known by this when it has lost its name to the next one. */
#define LABEL "llm-sandbox.build"

static void write_path(const struct sbx_spec *spec, const char *file, const char *name,
		       struct sbx_buf *path)
{
	const char *platform = engine_image_platform(spec);
	const char *network =
		json_string_value(json_object_get(spec->container.runtime, "network_mode"));

	sbx_buf_puts(path, "/build?rm=1&forcerm=1&dockerfile=");
	engine_append_escaped(path, file);
	sbx_buf_puts(path, "&t=");
	engine_append_escaped(path, name);
	if (spec->container.tag == NULL)
		sbx_buf_printf(path, "&labels=%%7B%%22" LABEL "%%22%%3A%%22%s%%22%%7D", name);
	if (spec->container.pull == SBX_PULL_ALWAYS)
		sbx_buf_puts(path, "&pull=1");
	if (platform != NULL)
		sbx_buf_printf(path, "&platform=%s", platform);
	if (network != NULL) {
		sbx_buf_puts(path, "&networkmode=");
		engine_append_escaped(path, network);
	}
}

static int build(struct engine_client *client, const struct sbx_spec *spec, const char *file,
		 const struct engine_context *context, struct engine_image *image, struct sbx_error *err)
{
	struct building b = {.lines = {.spec = spec, .line = on_line, .rest = SBX_BUF_INIT(LINE_BYTES)}};
	auto_buf struct sbx_buf path = SBX_BUF_INIT(8192);
	struct engine_request request = {.method = "POST", .raw = context->data,
					 .raw_len = context->len, .raw_type = "application/x-tar",
					 .timeout_ms = BUILD_MS, .on_piece = engine_lines_add,
					 .userdata = &b.lines};
	int r;

	write_path(spec, file, image->name, &path);
	if (path.failed)
		return sbx_fail_errno(err, ENOMEM, "cannot build an image");
	request.path = path.data;
	engine_say(spec, "building the image %s", image->name);
	r = engine_call(client, &request, NULL, err);
	engine_lines_end(&b.lines);
	if (r == 0 && b.lines.problem[0] != '\0')
		r = fail_build(&b, err);
	memcpy(image->id, b.id, sizeof(image->id));
	return r < 0 ? explain(client, spec->container.dockerfile, r, err) : 0;
}

/* The Containerfile's path below the folder, or NULL when it is elsewhere. */
static const char *find_below(const char *folder, const char *file)
{
	size_t len = strlen(folder);

	len = len > 0 && folder[len - 1] == '/' ? len - 1 : len;
	return strncmp(file, folder, len) == 0 && file[len] == '/' ? file + len + 1 : NULL;
}

static int pack_and_build(struct engine_client *client, const struct sbx_spec *spec,
			  const char *folder, struct engine_image *image, struct sbx_error *err)
{
	const char *file = spec->container.dockerfile, *below = find_below(folder, file);
	struct engine_context context = {0};
	int r = engine_context_pack(folder, below ? below : ENGINE_CONTEXT_FILE, below ? NULL : file,
				    &context, err);

	if (r == 0)
		r = build(client, spec, below ? below : ENGINE_CONTEXT_FILE, &context, image, err);
	engine_context_done(&context);
	return r;
}

/* With a slash at its end where it is the root. */
static char *find_folder(const struct sbx_container *c)
{
	size_t len = (size_t)(strrchr(c->dockerfile, '/') - c->dockerfile);

	return c->context ? strdup(c->context) : strndup(c->dockerfile, len > 0 ? len : 1);
}

/*
 * Those that had this name before. One that a container still has, which may be on its way out, goes
 * when the next one is built.
 */
static void remove_earlier(struct engine_client *client, const char *name)
{
	auto_buf struct sbx_buf path = SBX_BUF_INIT(1024);
	struct engine_request request = {.method = "GET"};
	json_t *list = NULL, *image;
	struct sbx_error ignored;
	size_t i;

	sbx_buf_printf(&path, "/images/json?filters=%%7B%%22dangling%%22%%3A%%5B%%22true%%22%%5D%%2C"
			      "%%22label%%22%%3A%%5B%%22" LABEL "%%3D%s%%22%%5D%%7D", name);
	if (path.failed)
		return;
	request.path = path.data;
	if (engine_call(client, &request, &list, &ignored) < 0)
		return;
	json_array_foreach(list, i, image)
		engine_image_drop(client, image);
	json_decref(list);
}

int engine_image_build(struct engine_client *client, const struct sbx_spec *spec,
		       struct engine_image *ret, struct sbx_error *err)
{
	const struct sbx_container *c = &spec->container;
	struct engine_image image = {.was_built = true};
	auto_free char *folder = find_folder(c);
	struct sbx_error ignored;
	int r;

	if (folder != NULL)
		image.name = c->tag ? strdup(c->tag) : make_name(c, folder);
	if (image.name == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot build an image");
	image.made_here = engine_image_inspect(client, image.name, NULL, &ignored) < 0;
	r = pack_and_build(client, spec, folder, &image, err);
	if (r < 0) {
		engine_image_done(&image);
		return sbx_wrap(err, "cannot build an image from '%.256s'", c->dockerfile);
	}
	/* A name that we made up is of one image. */
	if (c->tag == NULL)
		remove_earlier(client, image.name);
	*ret = image;
	return 0;
}
