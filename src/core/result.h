/* SPDX-License-Identifier: MIT */
/* How a result is made, for core alone; users see llmsandbox/result.h. */
#pragma once

#include "backend/backend.h"
#include "core/capture.h"
#include "wire/message.h"

#include <llmsandbox/result.h>

/* Of nothing that ran: exit code 0 and no output; NULL without memory. */
struct sbx_result *sbx_result_empty(void);

/* Add what one program cost. */
void sbx_result_add_cost(struct sbx_result *result, const struct wire_exit *exit);

/* How the last program ended, and what the host saw of it. */
struct sbx_ending {
	const struct wire_exit *exit; /* all zero where it is lost */
	bool cancelled, out_of_memory, overdue, lost;
	uint64_t peak_memory_bytes; /* of the whole sandbox; 0: not known */
	struct sbx_capture *capture[2];
	const struct sbx_report *report;
};

/* Fill in the rest from it. */
int sbx_result_finish(struct sbx_result *result, const struct sbx_ending *end,
		      struct sbx_error *err);
