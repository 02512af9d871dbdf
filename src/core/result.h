/* SPDX-License-Identifier: MIT */
/* How a result is made, for core alone; users see llmsandbox/result.h. */
#pragma once

#include "core/exchange.h"

#include <llmsandbox/result.h>

/* Add what one program cost. */
void sbx_result_add_cost(struct sbx_result *result, const struct wire_exit *exit);

/* Fill in the rest from how the last program ended. */
int sbx_result_finish(struct sbx_result *result, struct sbx_exchange *x,
		      const struct wire_exit *exit, const struct sbx_report *report,
		      struct sbx_error *err);
