/* SPDX-License-Identifier: MIT */
/* The rlimits that programs get in every backend, whatever its cgroups do. */
#pragma once

#include "backend/spec.h"
#include "wire/message.h"

#include <stdbool.h>

/* Append them; without_count leaves out the one on processes, which counts more than the sandbox's. */
void sbx_rlimits_set(struct wire_setup *ret, const uint64_t limits[SBX_LIMIT_COUNT],
		     bool without_count);
