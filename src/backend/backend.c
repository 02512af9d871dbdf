/* SPDX-License-Identifier: MIT */
#include "backend/backend.h"

#include "backend/ops.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct sbx_backend *const backends[] = {
	&sbx_backend_native,
	&sbx_backend_docker,
	&sbx_backend_podman,
#ifdef SBX_WITH_FAKE
	&sbx_backend_fake,
#endif
};

const struct sbx_backend *sbx_backend_find(const char *name)
{
	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		if (strcmp(backends[i]->name, name) == 0)
			return backends[i];
	}
	return NULL;
}

const char *sbx_backend_names(void)
{
#ifdef SBX_WITH_FAKE
	return "native, docker, podman, fake";
#else
	return "native, docker, podman";
#endif
}

const struct sbx_backend *sbx_backend_default(void)
{
	return backends[0];
}

void sbx_report_add(struct sbx_report *report, const char *name, enum sbx_isolation_status status,
		    const char *fmt, ...)
{
	struct sbx_isolation *line = &report->lines[report->count];
	va_list ap;

	if (report->count == SBX_REPORT_MAX)
		return;
	report->count++;
	snprintf(line->name, sizeof(line->name), "%s", name);
	line->status = status;
	va_start(ap, fmt);
	vsnprintf(line->detail, sizeof(line->detail), fmt, ap);
	va_end(ap);
}

const char *sbx_backend_name(const struct sbx_backend *backend)
{
	return backend->name;
}

bool sbx_backend_shows_mounts(const struct sbx_backend *backend)
{
	return !backend->no_mounts;
}

bool sbx_backend_has_own_tools(const struct sbx_backend *backend)
{
	return backend->own_tools;
}

int sbx_backend_probe(const struct sbx_backend *backend, struct sbx_error *err)
{
	return backend->probe != NULL ? backend->probe(err) : 0;
}

const struct sbx_backend_images *sbx_backend_images(const struct sbx_backend *backend)
{
	return backend->images;
}

const struct sbx_backend_sets *sbx_backend_sets(const struct sbx_backend *backend)
{
	return backend->sets;
}

int sbx_backend_print_plan(const struct sbx_spec *spec, struct sbx_buf *out,
			   struct sbx_error *err)
{
	return spec->backend->print_plan(spec, out, err);
}

int sbx_place_open(const struct sbx_spec *spec, struct sbx_place **ret, struct sbx_error *err)
{
	return spec->backend->open(spec, ret, err);
}

int sbx_place_stream(const struct sbx_place *place)
{
	return place->stream_fd;
}

int sbx_place_setup(const struct sbx_place *place, struct wire_setup *ret, struct sbx_error *err)
{
	return place->backend->setup(place, ret, err);
}

const char *const *sbx_place_env(const struct sbx_place *place)
{
	return place->backend->env != NULL ? place->backend->env(place) : NULL;
}

const char *sbx_place_image_name(const struct sbx_place *place)
{
	return place->backend->image_name != NULL ? place->backend->image_name(place) : NULL;
}

const char *sbx_place_image_id(const struct sbx_place *place)
{
	return place->backend->image_id != NULL ? place->backend->image_id(place) : NULL;
}

const char *sbx_place_embedded(const struct sbx_place *place)
{
	return place->backend->embedded != NULL ? place->backend->embedded(place) : NULL;
}

const struct sbx_place_sets *sbx_place_sets(const struct sbx_place *place)
{
	return place->backend->shown_sets != NULL ? place->backend->shown_sets(place) : NULL;
}

const char *sbx_place_commit_tag(const struct sbx_place *place)
{
	return place->backend->commit_tag != NULL ? place->backend->commit_tag(place) : NULL;
}

int sbx_place_failure(struct sbx_place *place, struct sbx_error *err)
{
	return place->backend->failure(place, err);
}

void sbx_place_usage(struct sbx_place *place, struct sbx_place_usage *ret)
{
	*ret = (struct sbx_place_usage){0};
	place->backend->usage(place, ret);
}

void sbx_place_usage_reset(struct sbx_place *place)
{
	place->backend->usage_reset(place);
}

void sbx_place_report(const struct sbx_place *place, const struct wire_surroundings *found,
		      struct sbx_report *report)
{
	place->backend->report(place, found, report);
}

void sbx_place_kill(struct sbx_place *place)
{
	place->backend->kill(place);
}

void sbx_place_close(struct sbx_place *place)
{
	if (place != NULL)
		place->backend->close(place);
}
