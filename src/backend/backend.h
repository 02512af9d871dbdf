/* SPDX-License-Identifier: MIT */
/*
 * For those who call a backend; those who write one read ops.h.
 *
 * A backend makes an isolated place with our agent as its first process and hands back a
 * connected byte stream to it. All else goes over that stream. A place is used by one thread at
 * a time; closing it ends every process in it and leaves nothing on the machine.
 */
#pragma once

#include "backend/spec.h"
#include "base/buf.h"
#include "base/error.h"
#include "wire/message.h"

#include <llmsandbox/result.h>

#include <sys/types.h>

struct sbx_backend;
struct sbx_place;

#define SBX_REPORT_MAX 32

/* The isolation report while it is written. */
struct sbx_report {
	struct sbx_isolation lines[SBX_REPORT_MAX];
	size_t count;
};

/* Add a line; the detail is cut where its space ends. */
void sbx_report_add(struct sbx_report *report, const char *name, enum sbx_isolation_status status,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* What the place knows of its cost that the agent cannot know; 0 = not known. */
struct sbx_place_usage {
	uint64_t peak_memory_bytes;
	uint64_t oom_kills; /* processes that the memory limit has killed so far */
	bool shared;	    /* what the agent counts is not of this place alone */
};

/* By name, or NULL. names lists them: "native, fake". */
const struct sbx_backend *sbx_backend_find(const char *name);
const char *sbx_backend_names(void);
const char *sbx_backend_name(const struct sbx_backend *backend);
const struct sbx_backend *sbx_backend_default(void);

/* Whether mounts of a spec are shown at their places inside, and not where they are here. */
bool sbx_backend_shows_mounts(const struct sbx_backend *backend);

/* Whether tool chains are those of an image, and not of this machine. */
bool sbx_backend_has_own_tools(const struct sbx_backend *backend);

/* Whether what makes the places answers at all: 0, or why it does not. */
int sbx_backend_probe(const struct sbx_backend *backend, struct sbx_error *err);

/* Images of our own that a backend keeps itself. */
struct sbx_backend_image {
	const char *name, *tools; /* tools: "python-3.11.2 ruby-3.1.2", or "" */
	const char *id;		  /* as find() tells it */
	uint64_t bytes, made;
};

struct sbx_backend_import {
	const char *name, *tools; /* name: "python", for "llm-sandbox/python" */
	const char *const *env;	  /* variables that it sets, "NAME=value", NULL-terminated; or NULL */
	uint64_t bytes;		  /* of the archive, a tar, which … */
	ssize_t (*read)(void *data, size_t len, void *userdata); /* … comes from here; -1 stops it */
	void *userdata;
};

#define SBX_IMAGE_ID_MAX 80

struct sbx_backend_export {
	const char *image; /* as the engine knows it: "python:3-slim" */
	int (*write)(const void *data, size_t len, void *userdata, struct sbx_error *err);
	void *userdata;
};

struct sbx_backend_images {
	int (*list)(void (*each)(const struct sbx_backend_image *image, void *userdata), void *userdata,
		    struct sbx_error *err);
	int (*import)(const struct sbx_backend_import *import, struct sbx_error *err);
	int (*remove)(const char *name, struct sbx_error *err);
	/* What identifies an image that is there ("sha256:…"); none is pulled. SBX_E_NOT_FOUND. */
	int (*find)(const char *image, char ret_id[SBX_IMAGE_ID_MAX], struct sbx_error *err);
	/* Write its files as a tar. *ret_env are the variables it sets, for sbx_strv_free(). */
	int (*export)(const struct sbx_backend_export *export, char ***ret_env, struct sbx_error *err);
};

/* NULL: the backend keeps none. */
const struct sbx_backend_images *sbx_backend_images(const struct sbx_backend *backend);

#define SBX_ENGINE_MAX 256

/*
 * Library sets of an image that a backend keeps itself, where all places of the image see them: in a folder
 * that a place whose spec says sets_writable may write. What is in it is the caller's.
 */
struct sbx_backend_sets {
	int (*engine)(char ret[SBX_ENGINE_MAX], struct sbx_error *err); /* which one is asked now */
	int (*exists)(const char *image_id, bool *ret, struct sbx_error *err);
	int (*discard)(const char *image_id, struct sbx_error *err); /* all sets of the image */
};

/* NULL: the backend keeps none. */
const struct sbx_backend_sets *sbx_backend_sets(const struct sbx_backend *backend);

/* Write the plan for spec as text, a step a line. */
int sbx_backend_print_plan(const struct sbx_spec *spec, struct sbx_buf *out,
			   struct sbx_error *err);

/* Make the place. On failure nothing of it is left. */
int sbx_place_open(const struct sbx_spec *spec, struct sbx_place **ret, struct sbx_error *err);

/* The stream, owned by the place; non-blocking. */
int sbx_place_stream(const struct sbx_place *place);

/* What to send the agent as SETUP; free with wire_setup_done(). */
int sbx_place_setup(const struct sbx_place *place, struct wire_setup *ret, struct sbx_error *err);

/* Variables that the place's image sets for programs, "NAME=value", NULL-terminated; or NULL. */
const char *const *sbx_place_env(const struct sbx_place *place);

/* What people call the image it is of, or the container; NULL where there is none. */
const char *sbx_place_image_name(const struct sbx_place *place);

/* What identifies the image's contents ("sha256:…"), or NULL where there is none, or none known. */
const char *sbx_place_image_id(const struct sbx_place *place);

/* The folder inside that has the embedded files of the spec from the start, or NULL. */
const char *sbx_place_embedded(const struct sbx_place *place);

/* Where a place shows the sets of its image, and the address of what keeps them. */
struct sbx_place_sets {
	char folder[64], engine[SBX_ENGINE_MAX];
};

/* NULL: it shows none. */
const struct sbx_place_sets *sbx_place_sets(const struct sbx_place *place);

/* The image that the place is kept as when it is closed, or NULL. */
const char *sbx_place_commit_tag(const struct sbx_place *place);

/*
 * Why the stream ended before HELLO, or later without being closed: fills err when the place knows and returns -code, else 0.
 */
int sbx_place_failure(struct sbx_place *place, struct sbx_error *err);

void sbx_place_usage(struct sbx_place *place, struct sbx_place_usage *ret);

/* Forget the peak so far, where the kernel can: the next usage is of the next run. */
void sbx_place_usage_reset(struct sbx_place *place);

/*
 * Add the lines that the place answers for (the agent's fences are core's to add); found is what the
 * agent has seen of it.
 */
void sbx_place_report(const struct sbx_place *place, const struct wire_surroundings *found,
		      struct sbx_report *report);

/* End every process in it, at once; the stream then ends. Async-signal-safe. */
void sbx_place_kill(struct sbx_place *place);

/* Kill, wait, remove what is left, free. NULL is allowed. */
void sbx_place_close(struct sbx_place *place);
