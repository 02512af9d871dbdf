/* SPDX-License-Identifier: MIT */
/* What a run came to, on our own stdout and stderr. */
#pragma once

#include "options.h"

#include <llmsandbox/session.h>

/* Give io the callbacks that the options ask for. */
void show_prepare(struct sbx_io *io, const struct options *o);

/* Print the result and free it: the exit status. */
int show_result(struct sbx_result *result, const struct options *o);
