/* SPDX-License-Identifier: MIT */
/* Why a sandbox cannot be made, as a sentence that names the setting and what to do about it. */
#pragma once

#include "backend/native/child.h"
#include "backend/native/plan.h"
#include "base/error.h"

/*
 * The settings of this kernel that can forbid user namespaces, with their values, as one text:
 * "user.max_user_namespaces=96364". Returns how to lift the first that does forbid them, or
 * NULL.
 */
const char *trouble_settings(char *ret_text, size_t size);

/* clone3() failed. Fills err and returns -code. */
int trouble_clone(int sys_errno, struct sbx_error *err);

/* What the child said of its failure. Fills err and returns -code. */
int trouble_child(const struct plan *plan, const struct child_failure *failure,
		  struct sbx_error *err);
