/* SPDX-License-Identifier: MIT */
/* A run that is a cell of a kernel. */
#pragma once

#include "base/error.h"
#include "lang/lang.h"

#include <llmsandbox/session.h>

int sbx_cell_run(struct sbx_session *session, const struct sbx_lang *lang,
		 const struct sbx_run *run, struct sbx_result **ret, struct sbx_error *err);
