/* SPDX-License-Identifier: MIT */
/* The part of a spec that only container engines have, for core. */
#pragma once

#include "backend/spec.h"
#include "base/error.h"

void sbx_container_done(struct sbx_container *container);

/* Whether an engine's image can be called so; nothing is asked of an engine. */
int sbx_image_check_foreign(const char *image, struct sbx_error *err);

/* Whether anything is set that needs an engine. */
bool sbx_container_is_wished(const struct sbx_container *container);

/* Whether what is set goes together, and with the backend. */
int sbx_container_check(const struct sbx_spec *spec, struct sbx_error *err);

/* Whether it is below a folder that every sandbox has, or a writable mount (spec.c). */
bool sbx_spec_may_work_in(const struct sbx_spec *spec, const char *path);

/* Says that an image, or container, has no tool chain for a language, and what to do: -SBX_E_NOT_FOUND. */
struct sbx_lang;
int sbx_explain_lacking_image(const struct sbx_spec *spec, const char *name,
			      const struct sbx_lang *lang, struct sbx_error *err);

/* Name the images to look for where the spec names none; freed with sbx_container_free_choices(). */
int sbx_container_choose(struct sbx_spec *copy, struct sbx_error *err);
void sbx_container_free_choices(struct sbx_spec *copy);
