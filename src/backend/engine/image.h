/* SPDX-License-Identifier: MIT */
/*
 * The image that a container is made of: found with the engine, pulled, or built, and looked at before
 * anything is started, so that one for other processors is told by name.
 */
#pragma once

#include "backend/engine/client.h"
#include "backend/spec.h"
#include "base/buf.h"

#define ENGINE_IMAGE_ID_MAX 80

struct engine_image {
	char *name;	 /* owned */
	json_t *config;	 /* what it says of itself: Env, User, Volumes …; owned, or NULL */
	char id[ENGINE_IMAGE_ID_MAX]; /* "sha256:…", or "" */
	bool made_here;	 /* pulled or built by this call */
	bool was_built;	 /* its name may be another's by now: whoever builds the same folder has the same */
};

/* Errors say what is wrong with which image, and what to do. On failure *ret is empty. */
int engine_image_get(struct engine_client *client, const struct sbx_spec *spec,
		     struct engine_image *ret, struct sbx_error *err);

/* The name of what would be got, for a plan: the first choice where none is named. */
const char *engine_image_name(const struct sbx_spec *spec);

/* *ret is the image's own description, the caller's; SBX_E_NOT_FOUND when it is not there. */
int engine_image_inspect(struct engine_client *client, const char *name, json_t **ret,
			 struct sbx_error *err);

/* The processors that it is for must be those that our agent is for, and those wished for, or NULL. */
int engine_image_check_platform(const char *name, const json_t *image, const char *wished,
				struct sbx_error *err);

/* What a container of it is to be made of: the id of what was built, and else the name. */
const char *engine_image_reference(const struct engine_image *image);

/* Forget it with the engine, unless somebody uses it. */
void engine_image_remove(struct engine_client *client, const char *name);

/* The same for one that was made by this; an image that has taken its name since stays. */
void engine_image_undo(struct engine_client *client, const struct engine_image *image);

void engine_image_done(struct engine_image *image);

/* The same for one that has lost its name to another, as it was looked at before; others may have named it. */
void engine_image_drop(struct engine_client *client, const json_t *before);

/* ---- the parts, each in its file ---- */

/* pull.c */
int engine_image_pull(struct engine_client *client, const struct sbx_spec *spec, const char *name,
		      struct sbx_error *err);

/*
 * build.c: what was built, of which all but its config is filled in; made_here where there was none of
 * that name. The engine may not say its id.
 */
int engine_image_build(struct engine_client *client, const struct sbx_spec *spec,
		       struct engine_image *ret, struct sbx_error *err);

/* "linux/arm64" as asked for in runtime_configs, or NULL. */
const char *engine_image_platform(const struct sbx_spec *spec);

/* Append to the query of a request: what has a meaning there as %XX. */
void engine_append_escaped(struct sbx_buf *out, const char *text);

/* Say a line to whoever wants to hear of progress. */
void engine_say(const struct sbx_spec *spec, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * What comes of a pull or a build: a JSON object a line. line is called for each; what it fails with
 * ends the call.
 */
struct engine_lines {
	const struct sbx_spec *spec;
	void (*line)(struct engine_lines *lines, const json_t *object);
	struct sbx_buf rest;
	char problem[512]; /* what the engine could not do, or "" */
	uint64_t said_ns;
	struct engine_layer {
		char id[16];
		json_int_t current, total;
	} layers[64];
	size_t layer_count;
};

int engine_lines_add(const void *data, size_t len, void *lines, struct sbx_error *err);

/* What came behind the last line end is a line too; frees what is held. */
void engine_lines_end(struct engine_lines *lines);
