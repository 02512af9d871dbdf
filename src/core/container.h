/* SPDX-License-Identifier: MIT */
/* The part of a spec that only container engines have, for core. */
#pragma once

#include "backend/spec.h"
#include "base/error.h"

void sbx_container_done(struct sbx_container *container);

/* Whether anything is set that needs an engine. */
bool sbx_container_is_wished(const struct sbx_container *container);

/* Whether what is set goes together, and with the backend. */
int sbx_container_check(const struct sbx_spec *spec, struct sbx_error *err);

/* Whether it is below a folder that every sandbox has, or a writable mount (spec.c). */
bool sbx_spec_may_work_in(const struct sbx_spec *spec, const char *path);

/* Name the images to look for where the spec names none; freed with sbx_container_free_choices(). */
int sbx_container_choose(struct sbx_spec *copy, struct sbx_error *err);
void sbx_container_free_choices(struct sbx_spec *copy);
