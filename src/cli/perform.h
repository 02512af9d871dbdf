/* SPDX-License-Identifier: MIT */
/* One run or command in a fresh sandbox, from the options to the exit status. */
#pragma once

#include "options.h"
#include "spec_from.h"

#include <llmsandbox/session.h>

struct performance {
	const struct options *options;
	struct sbx_spec *spec; /* owned */
	struct sbx_run run;	    /* with a language, or … */
	struct sbx_command command; /* … with an argv */
};

/* Do it, print what came of it, free all: the exit status. */
int perform(struct performance *p);

/* Free all and return status. */
int perform_end(struct performance *p, int status);
