/* SPDX-License-Identifier: MIT */
/* The pictures among the artifacts of results, shown in our terminal. Zeroed, it is ready. */
#pragma once

#include "cli/show.h"
#include "cli/site.h"

#include <llmsandbox/result.h>

struct gallery {
	struct screen screen;
	bool looked; /* the terminal was asked */
	bool told;   /* that it can show none */
};

/* Whether there is a terminal to show them in. */
bool gallery_is_possible(void);

/* Show them; what cannot be shown is named. are_saved: there are files to look at instead. */
void gallery_show(struct gallery *g, const struct site *site, const struct sbx_result *result,
		  bool are_saved);
