/* SPDX-License-Identifier: MIT */
#include "backend/engine/container.h"

#include "backend/engine/labels.h"
#include "backend/engine/removal.h"
#include "backend/engine/tar.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/embedded.h"
#include "base/sha256.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ARCHIVE_MAX (16u << 20)
#define PREFIX	    "llm-sandbox-agent-"
#define MARK	    "-whole"
#define HEX	    "0123456789abcdef"
#define DIGITS	    16 /* of each digest in a name */
#define DAY_S	    (24 * 3600)
#define RENEWED_S   (7 * DAY_S)	 /* a mark that is older is made again */
#define OLD_S	    (60 * DAY_S) /* nobody has used it for more than seven weeks */
#define FRESH_S	    10
#define FILLING_S   60		 /* nobody fills for longer */
#define PATIENCE_MS 30000
#define PAUSE_NS    (50 * SBX_NS_PER_MS)

extern const char sbx_agent_image_start[];
extern const char sbx_agent_image_end[];

static pthread_once_t named = PTHREAD_ONCE_INIT;
static char digest[17]; /* of the agent */

static size_t agent_size(void)
{
	return (size_t)(sbx_agent_image_end - sbx_agent_image_start);
}

static void make_digest(void)
{
	struct sbx_sha256 hash = SBX_SHA256_INIT;
	char hex[SBX_SHA256_HEX];

	sbx_sha256_add(&hash, sbx_agent_image_start, agent_size());
	sbx_sha256_hex(&hash, hex);
	snprintf(digest, sizeof(digest), "%.16s", hex);
}

void engine_volume_name(const struct sbx_spec *spec, char ret[ENGINE_VOLUME_MAX])
{
	pthread_once(&named, make_digest);
	snprintf(ret, ENGINE_VOLUME_MAX, PREFIX "%s-%.16s", digest, spec->embedded_version);
}

void engine_volume_pack(struct sbx_buf *tar, const char *path)
{
	engine_tar_add(tar, path, 0755, sbx_agent_image_start, agent_size());
	engine_tar_end(tar);
}

/* The folders that a file's path names; one that was named before does no harm. */
static void pack_parents(struct sbx_buf *tar, const char *path)
{
	for (const char *slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
		char folder[100];

		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		engine_tar_add_folder(tar, folder, 0755, 0, 0);
	}
}

static void pack_embedded(struct sbx_buf *tar, const struct sbx_embedded_file *file)
{
	for (; file != NULL && file->path != NULL; file++) {
		char path[100];

		snprintf(path, sizeof(path), ENGINE_EMBEDDED "/%s", file->path);
		pack_parents(tar, path);
		engine_tar_add(tar, path, 0644, file->data, file->len);
	}
}

/* The agent comes last: where it is, all is. */
static int put_files(struct engine_client *client, const struct sbx_spec *spec,
		     const struct engine_container *carrier, struct sbx_error *err)
{
	auto_buf struct sbx_buf tar = SBX_BUF_INIT(ARCHIVE_MAX);

	pack_embedded(&tar, spec->embedded);
	engine_volume_pack(&tar, "agent");
	return engine_container_put(client, carrier, ENGINE_AGENT_FOLDER, &tar, err);
}

/* ---- volumes as such ---- */

static int call(struct engine_client *client, const char *method, const char *volume, json_t **ret,
		struct sbx_error *err)
{
	char path[ENGINE_VOLUME_MAX + 32];

	snprintf(path, sizeof(path), "/volumes/%s", volume);
	return engine_call(client, &(struct engine_request){.method = method, .path = path}, ret, err);
}

/* One that is there stays as it is; with a time, it says when it was filled. */
static int make(struct engine_client *client, const char *volume, bool filled, struct sbx_error *err)
{
	char now[ENGINE_TIME_MAX];
	json_t *labels = json_pack("{s:s}", ENGINE_LABEL, "agent");
	json_t *body = json_pack("{s:s, s:o}", "Name", volume, "Labels", labels);
	int r;

	if (body == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot describe a volume");
	if (filled)
		json_object_set_new(labels, ENGINE_LABEL_FILLED, json_string(engine_labels_now(now)));
	r = engine_call(client, &(struct engine_request){.method = "POST", .path = "/volumes/create",
							 .body = body},
			NULL, err);
	json_decref(body);
	return r < 0 && strstr(err->msg, "already exists") != NULL ? 0 : r;
}

/* How long ago it was filled, or, where it does not say that, made; -1: nobody knows. */
static int64_t age_of(const json_t *volume)
{
	const json_t *labels = json_object_get(volume, "Labels");
	const char *time = json_string_value(json_object_get(labels, ENGINE_LABEL_FILLED));

	if (time == NULL)
		time = json_string_value(json_object_get(volume, "CreatedAt"));
	return time != NULL ? engine_labels_age_s(time) : -1;
}

/* ---- those of other versions ---- */

/* "llm-sandbox-agent-", two digests, and nothing else that is not the mark. */
static bool is_agent_volume(const char *name, bool *ret_is_mark)
{
	size_t len = strlen(PREFIX);

	if (strncmp(name, PREFIX, len) != 0 || strspn(name + len, HEX) != DIGITS ||
	    name[len + DIGITS] != '-' || strspn(name + len + DIGITS + 1, HEX) != DIGITS)
		return false;
	name += len + 2 * DIGITS + 1;
	*ret_is_mark = strcmp(name, MARK) == 0;
	return name[0] == '\0' || *ret_is_mark;
}

/* The mark is made anew every week that it is used; one without a mark was never whole. */
static bool is_unused(const json_t *list, const json_t *volume, const char *name)
{
	char mark[ENGINE_VOLUME_MAX];
	const json_t *whole;

	snprintf(mark, sizeof(mark), "%s" MARK, name);
	whole = engine_find(list, "Name", mark);
	return age_of(volume) > OLD_S && (whole == NULL || age_of(whole) > OLD_S);
}

/*
 * The engine itself refuses to remove what a container has; only when it is gone its mark goes. Whoever
 * starts a container of that version between the two has an empty volume, and fills it (engine.c).
 */
static void remove_pair(struct engine_client *client, const char *name)
{
	char mark[ENGINE_VOLUME_MAX];
	struct sbx_error ignored;

	if (call(client, "DELETE", name, NULL, &ignored) < 0 && engine_status(client) != 404)
		return;
	snprintf(mark, sizeof(mark), "%s" MARK, name);
	call(client, "DELETE", mark, NULL, &ignored);
}

/* Volumes of other versions of this program that nobody has used for long. */
static void remove_unused(struct engine_client *client, const char *mine)
{
	struct sbx_error ignored;
	json_t *answer = NULL, *list, *item;
	bool is_mark;
	size_t i;

	/* {"name":["llm-sandbox-agent-"]} */
	if (engine_call(client, &(struct engine_request){.method = "GET", .path =
				"/volumes?filters=%7B%22name%22%3A%5B%22" PREFIX "%22%5D%7D"},
			&answer, &ignored) < 0)
		return;
	list = json_object_get(answer, "Volumes");
	json_array_foreach(list, i, item) {
		const char *name = json_string_value(json_object_get(item, "Name"));

		if (name == NULL || !is_agent_volume(name, &is_mark) || is_mark ||
		    strcmp(name, mine) == 0)
			continue;
		if (is_unused(list, item, name))
			remove_pair(client, name);
	}
	json_decref(answer);
}

/* ---- the mark of a whole one ---- */

static void name_mark(const struct sbx_spec *spec, char ret[ENGINE_VOLUME_MAX])
{
	char name[ENGINE_VOLUME_MAX];

	engine_volume_name(spec, name);
	snprintf(ret, ENGINE_VOLUME_MAX, "%.*s" MARK, (int)(ENGINE_VOLUME_MAX - sizeof(MARK)), name);
}

/* So that others see that it is in use. Without it for a moment, the worst is that it is filled twice. */
static void renew(struct engine_client *client, const struct sbx_spec *spec, const char *mark)
{
	char name[ENGINE_VOLUME_MAX];
	struct sbx_error ignored;

	call(client, "DELETE", mark, NULL, &ignored);
	make(client, mark, true, &ignored);
	engine_volume_name(spec, name);
	remove_unused(client, name);
}

bool engine_volume_is_whole(struct engine_client *client, const struct sbx_spec *spec)
{
	char mark[ENGINE_VOLUME_MAX];
	struct sbx_error ignored;
	json_t *volume = NULL;

	name_mark(spec, mark);
	if (call(client, "GET", mark, &volume, &ignored) < 0)
		return false;
	if (age_of(volume) > RENEWED_S)
		renew(client, spec, mark);
	json_decref(volume);
	return true;
}

bool engine_volume_is_fresh(struct engine_client *client, const struct sbx_spec *spec)
{
	char mark[ENGINE_VOLUME_MAX];
	struct sbx_error ignored;
	json_t *volume = NULL;
	bool fresh;

	name_mark(spec, mark);
	fresh = call(client, "GET", mark, &volume, &ignored) == 0 && age_of(volume) >= 0 &&
		age_of(volume) <= FRESH_S;
	json_decref(volume);
	return fresh;
}

void engine_volume_distrust(struct engine_client *client, const struct sbx_spec *spec)
{
	char mark[ENGINE_VOLUME_MAX];
	struct sbx_error ignored;

	name_mark(spec, mark);
	call(client, "DELETE", mark, NULL, &ignored);
}

/* ---- the carrier ---- */

/* Its name is the volume's: the engine makes one at a time, and so one at a time fills the volume. */
static void name_carrier(const char *volume, char ret[ENGINE_VOLUME_MAX + 8])
{
	snprintf(ret, ENGINE_VOLUME_MAX + 8, "%s-filler", volume);
}

/* A container that has the volume, is never started, and whose image need not have any program. */
static int create_carrier(struct engine_client *client, const char *volume, const char *image,
			  struct engine_container *ret, struct sbx_error *err)
{
	json_t *answer = NULL;
	char name[ENGINE_VOLUME_MAX + 8];
	int r;

	if (ret->session[0] == '\0')
		engine_ours_add(ret->session);
	if (ret->asked == NULL)
		ret->asked = json_pack("{s:s, s:[s], s:[], s:o, s:{s:[o], s:s}}", "Image", image,
				       "Entrypoint", ENGINE_AGENT_FOLDER "/agent", "Cmd", "Labels",
				       engine_labels("carrier", ret->session), "HostConfig", "Binds",
				       json_sprintf("%s:" ENGINE_AGENT_FOLDER ":" ENGINE_VOLUME_MODE, volume),
				       "NetworkMode", "none");
	if (ret->asked == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot describe a container");
	name_carrier(volume, name);
	snprintf(ret->path, sizeof(ret->path), "/containers/create?name=%s", name);
	r = engine_call(client, &(struct engine_request){.method = "POST", .path = ret->path,
							 .body = ret->asked},
			&answer, err);
	if (r == 0 && !engine_container_take_id(answer, ret))
		r = sbx_fail(err, SBX_E_PROTOCOL, "the engine made a container and did not say which");
	json_decref(answer);
	return r;
}

static bool is_taken(const struct sbx_error *err)
{
	return strstr(err->msg, "already in use") != NULL;
}

/* Remove the other one where nobody is left to fill by it, or is at it for too long. */
static void judge_other(struct engine_client *client, const char *volume)
{
	struct engine_container other = {.asked = NULL};
	char name[ENGINE_VOLUME_MAX + 8], path[ENGINE_VOLUME_MAX + 40];
	json_t *answer = NULL, *labels;
	const char *started;
	struct sbx_error ignored;

	name_carrier(volume, name);
	snprintf(path, sizeof(path), "/containers/%s/json", name);
	if (engine_call(client, &(struct engine_request){.method = "GET", .path = path}, &answer,
			&ignored) < 0)
		return;
	labels = json_object_get(json_object_get(answer, "Config"), "Labels");
	started = json_string_value(json_object_get(labels, ENGINE_LABEL_STARTED)) ?: "";
	if (engine_container_take_id(answer, &other) &&
	    strcmp(json_string_value(json_object_get(labels, ENGINE_LABEL)) ?: "", "carrier") == 0 &&
	    (engine_labels_are_left_behind(labels, "created", engine_client_is_local(client)) ||
	     engine_labels_age_s(started) > FILLING_S))
		engine_container_remove(client, &other, &ignored);
	json_decref(answer);
}

static int fail_taken(const struct engine_client *client, const char *volume, struct sbx_error *err)
{
	const char *engine = engine_client_flavor(client)->name;
	char name[ENGINE_VOLUME_MAX + 8];

	name_carrier(volume, name);
	return sbx_fail(err, SBX_E_UNAVAILABLE,
			"the container '%s' keeps others from filling the volume '%s', and does not go; "
			"remove it (%s rm -f %s)",
			name, volume, engine, name);
}

/* Wait for the turn; *ret_whole says that another one has filled it meanwhile. */
static int become_carrier(struct engine_client *client, const struct sbx_spec *spec,
			  const char *volume, const char *image, struct engine_container *ret,
			  bool *ret_whole, struct sbx_error *err)
{
	uint64_t deadline_ns = sbx_deadline_ns(PATIENCE_MS);
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int r;

	*ret_whole = false;
	while ((r = create_carrier(client, volume, image, ret, err)) < 0 && is_taken(err)) {
		*ret_whole = engine_volume_is_whole(client, spec);
		if (*ret_whole)
			return 0;
		if (sbx_now_ns() > deadline_ns)
			return fail_taken(client, volume, err);
		judge_other(client, volume);
		/* An engine has no event that a stranger's container comes and goes by. */
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	/* The one before may have come to its end just now. */
	*ret_whole = r == 0 && engine_volume_is_whole(client, spec);
	return r;
}

/* ---- filling it ---- */

/* The mark is made while the carrier keeps others out, and so is none of what they take away. */
static int fill(struct engine_client *client, const struct sbx_spec *spec,
		const struct engine_container *carrier, struct sbx_error *err)
{
	char mark[ENGINE_VOLUME_MAX];
	int r = put_files(client, spec, carrier, err);

	name_mark(spec, mark);
	return r < 0 ? r : make(client, mark, true, err);
}

int engine_volume_fill(struct engine_client *client, const struct sbx_spec *spec, const char *image,
		       struct sbx_error *err)
{
	struct engine_container carrier = {.asked = NULL};
	char volume[ENGINE_VOLUME_MAX];
	struct sbx_error ignored;
	bool whole = false;
	int r;

	engine_volume_name(spec, volume);
	r = make(client, volume, false, err);
	if (r == 0)
		r = become_carrier(client, spec, volume, image, &carrier, &whole, err);
	if (r == 0 && !whole)
		r = fill(client, spec, &carrier, err);
	if (carrier.id[0] != '\0' && engine_container_remove(client, &carrier, &ignored) < 0)
		engine_removal_leave(client, &carrier, true);
	engine_container_done(&carrier);
	if (r == 0 && !whole)
		remove_unused(client, volume);
	return r < 0 ? sbx_wrap(err, "cannot give the agent to the engine, in the volume '%s'", volume) : 0;
}
