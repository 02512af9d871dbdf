/* SPDX-License-Identifier: MIT */
/*
 * For those who write a backend: one const struct sbx_backend with these functions, named in
 * the list in backend.c. Callers read backend.h, which says what each function promises.
 *
 * A backend's own place starts with struct sbx_place, so that a pointer to one is a pointer to
 * the other.
 */
#pragma once

#include "backend/backend.h"

struct sbx_place {
	const struct sbx_backend *backend;
	int stream_fd;
};

struct sbx_backend {
	const char *name;
	const struct sbx_backend_images *images; /* or NULL: they are not the backend's to keep */
	const struct sbx_backend_sets *sets; /* or NULL: the same */
	bool own_tools; /* programs are those of an image, and its folders may be on another machine */
	bool no_mounts; /* programs see the files of this machine, where they are */
	int (*probe)(struct sbx_error *err); /* or NULL: nothing has to answer */
	int (*print_plan)(const struct sbx_spec *spec, struct sbx_buf *out, struct sbx_error *err);
	int (*open)(const struct sbx_spec *spec, struct sbx_place **ret, struct sbx_error *err);
	int (*setup)(const struct sbx_place *place, struct wire_setup *ret, struct sbx_error *err);
	const char *const *(*env)(const struct sbx_place *place);      /* or NULL: no image, */
	const char *(*commit_tag)(const struct sbx_place *place); /* and nothing is kept */
	const char *(*embedded)(const struct sbx_place *place);   /* or NULL: they are not there */
	const char *(*image_name)(const struct sbx_place *place); /* or NULL */
	const char *(*image_id)(const struct sbx_place *place);   /* or NULL */
	const struct sbx_place_sets *(*shown_sets)(const struct sbx_place *place); /* or NULL */
	int (*failure)(struct sbx_place *place, struct sbx_error *err);
	void (*usage)(struct sbx_place *place, struct sbx_place_usage *ret);
	void (*usage_reset)(struct sbx_place *place);
	void (*report)(const struct sbx_place *place, const struct wire_surroundings *found,
		       struct sbx_report *report);
	void (*kill)(struct sbx_place *place);
	void (*close)(struct sbx_place *place);
};

extern const struct sbx_backend sbx_backend_native;
extern const struct sbx_backend sbx_backend_docker;
extern const struct sbx_backend sbx_backend_podman;
extern const struct sbx_backend sbx_backend_fake; /* in builds for tests only */
