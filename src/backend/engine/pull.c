/* SPDX-License-Identifier: MIT */
#include "backend/engine/image.h"

#include "backend/engine/auth.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PULL_MS	   (30 * 60 * 1000)
#define LINE_MAX_  (1u << 20)
#define PAUSE_NS   (500 * SBX_NS_PER_MS)
#define MB	   1000000
#define PLAIN	   "is not encrypted (https://, ssh:// and DOCKER_TLS_VERIFY=1 are)"

/* ---- progress ---- */

static struct engine_layer *find_layer(struct engine_lines *l, const char *id)
{
	for (size_t i = 0; i < l->layer_count; i++) {
		if (strcmp(l->layers[i].id, id) == 0)
			return &l->layers[i];
	}
	if (l->layer_count == sizeof(l->layers) / sizeof(l->layers[0]))
		return NULL;
	snprintf(l->layers[l->layer_count].id, sizeof(l->layers[0].id), "%s", id);
	return &l->layers[l->layer_count++];
}

/* All layers in one line, twice a second at most. */
static void say_sum(struct engine_lines *l)
{
	double current = 0, total = 0; /* what an engine says has no sum that overflows */

	if (sbx_now_ns() - l->said_ns < PAUSE_NS)
		return;
	l->said_ns = sbx_now_ns();
	for (size_t i = 0; i < l->layer_count; i++) {
		current += (double)l->layers[i].current;
		total += (double)l->layers[i].total;
	}
	engine_say(l->spec, "pulling: %.0f of %.0f MB", current / MB, total / MB);
}

static void on_line(struct engine_lines *l, const json_t *object)
{
	const char *status = json_string_value(json_object_get(object, "status")) ?: "";
	const char *id = json_string_value(json_object_get(object, "id"));
	const json_t *detail = json_object_get(object, "progressDetail");
	struct engine_layer *layer = id ? find_layer(l, id) : NULL;
	json_int_t total = json_integer_value(json_object_get(detail, "total"));

	if (layer != NULL && total > 0 && strcmp(status, "Downloading") == 0) {
		layer->current = json_integer_value(json_object_get(detail, "current"));
		layer->total = total;
		say_sum(l);
	} else if (id == NULL) {
		engine_say(l->spec, "%s", status);
	}
}

/* ---- what went wrong ---- */

/* Engines and registries have no codes for it: their words tell. The first that fits. */
static const struct {
	const char *words;
	enum sbx_code code;
	const char *cause;
} causes[] = {
	{"no space left", SBX_E_LIMIT, "the engine's disk is full; make room (images that nobody uses)"},
	{"no matching manifest", SBX_E_INVALID, "there is none for this platform"},
	{"no image found in manifest list", SBX_E_INVALID, "there is none for this platform"},
	{"repository does not exist or may require", SBX_E_NOT_FOUND,
	 "there is no such image, or it is only for who has logged in"},
	{"manifest unknown", SBX_E_NOT_FOUND, "there is no such image"},
	{"name unknown", SBX_E_NOT_FOUND, "there is no such image"},
	{"unauthorized", SBX_E_DENIED, "the registry wants another log-in"},
	{"no basic auth credentials", SBX_E_DENIED, "the registry wants a log-in"},
	{"authentication required", SBX_E_DENIED, "the registry wants a log-in"},
	{"denied", SBX_E_DENIED, "the registry does not let us have it"},
	{"toomanyrequests", SBX_E_UNAVAILABLE, "the registry has had too many requests; wait, or log in"},
	{"did not resolve to an alias", SBX_E_INVALID,
	 "the engine does not know which registry a short name is of; write the whole name"},
	{"no such host", SBX_E_UNAVAILABLE, "its registry cannot be reached"},
	{"dial tcp", SBX_E_UNAVAILABLE, "its registry cannot be reached"},
	{"connection refused", SBX_E_UNAVAILABLE, "its registry cannot be reached"},
	{"timeout", SBX_E_UNAVAILABLE, "its registry cannot be reached"},
	{"deadline exceeded", SBX_E_UNAVAILABLE, "its registry cannot be reached"},
	{"server misbehaving", SBX_E_UNAVAILABLE, "its registry cannot be reached"},
	{"network is unreachable", SBX_E_UNAVAILABLE, "its registry cannot be reached"},
	{"x509", SBX_E_UNAVAILABLE, "its registry's certificate is not trusted"},
	{"not found", SBX_E_NOT_FOUND, "there is no such image"},
};

static int explain(const char *name, const char *words, enum sbx_code code, struct sbx_error *err)
{
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		if (strcasestr(words, causes[i].words) != NULL)
			return sbx_fail(err, causes[i].code, "cannot pull the image '%.200s': %s (%.400s)",
					name, causes[i].cause, words);
	}
	return sbx_fail(err, code, "cannot pull the image '%.200s': %.400s", name, words);
}

/* ---- the call ---- */

/* Without a tag an engine takes all there are. */
static void format_path(const char *name, const char *platform, char *ret, size_t size)
{
	const char *slash = strrchr(name, '/'), *tag = strrchr(slash ? slash : name, ':');

	if (strchr(name, '@') != NULL)
		snprintf(ret, size, "/images/create?fromImage=%s", name);
	else if (tag != NULL)
		snprintf(ret, size, "/images/create?fromImage=%.*s&tag=%s", (int)(tag - name), name,
			 tag + 1);
	else
		snprintf(ret, size, "/images/create?fromImage=%s&tag=latest", name);
	if (platform != NULL)
		snprintf(ret + strlen(ret), size - strlen(ret), "&platform=%s", platform);
}

/* A log-in that others could read on its way is kept back: the image may be there for everybody. */
static bool keep_back(const struct engine_client *client, const struct sbx_spec *spec, char **auth)
{
	if (*auth == NULL || engine_client_is_private(client))
		return false;
	free(*auth);
	*auth = NULL;
	engine_say(spec, "your log-in is not sent: the connection to the engine " PLAIN);
	return true;
}

int engine_image_pull(struct engine_client *client, const struct sbx_spec *spec, const char *name,
		      struct sbx_error *err)
{
	struct engine_lines lines = {.spec = spec, .line = on_line, .rest = SBX_BUF_INIT(LINE_MAX_)};
	struct engine_request request = {.method = "POST", .timeout_ms = PULL_MS,
					 .on_piece = engine_lines_add, .userdata = &lines};
	auto_free char *auth = NULL;
	bool kept_back;
	struct sbx_error why;
	char path[1024];
	int r = engine_auth_find(client, name, &auth, err);

	if (r < 0)
		return r;
	kept_back = keep_back(client, spec, &auth);
	format_path(name, engine_image_platform(spec), path, sizeof(path));
	request.path = path;
	request.auth = auth;
	engine_say(spec, "pulling the image %s", name);
	r = engine_call(client, &request, NULL, &why);
	engine_lines_end(&lines);
	if (r < 0 && engine_status(client) < 400)
		*err = why;
	else if (r < 0)
		r = explain(name, why.msg, why.code, err);
	else if (lines.problem[0] != '\0')
		r = explain(name, lines.problem, SBX_E_UNAVAILABLE, err);
	if (r < 0 && kept_back)
		sbx_wrap(err, "your log-in was not sent, as the connection to the engine " PLAIN);
	return r;
}
