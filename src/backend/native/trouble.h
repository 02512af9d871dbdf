/* SPDX-License-Identifier: MIT */
/* Why a sandbox cannot be made, as a sentence that names the setting and what to do about it. */
#pragma once

#include "backend/native/plan.h"
#include "base/error.h"

/* clone3() failed. Fills err and returns -code. */
int trouble_clone(int sys_errno, struct sbx_error *err);

/* The child failed at a step; step == plan->count: at starting the agent. */
int trouble_step(const struct plan *plan, uint32_t step, int sys_errno, struct sbx_error *err);
