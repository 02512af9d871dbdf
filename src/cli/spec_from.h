/* SPDX-License-Identifier: MIT */
/* Options as a spec. */
#pragma once

#include "options.h"

/* Gather files, environment and argv, and make the spec of them: the index of the first
 * argument, or -1 (told on stderr), or 0 when help was asked for. */
int spec_from_command(unsigned int command, int argc, char **argv, struct options *o,
		      struct sbx_spec **ret, bool *ret_ended);
