/* SPDX-License-Identifier: MIT */
#include "cli/note.h"

#include <stdio.h>

void note_network(const struct sbx_result *result, char ret[NOTE_SIZE])
{
	const struct sbx_egress *first = NULL;
	size_t count = 0;

	for (size_t i = 0; i < result->egress_count; i++) {
		if (result->egress[i].verdict != SBX_EGRESS_DENIED)
			continue;
		first = first ? first : &result->egress[i];
		count++;
	}
	ret[0] = '\0';
	if (first != NULL)
		snprintf(ret, NOTE_SIZE,
			 "network: %zu attempt%s refused, the first to %.120s:%u: %.200s", count,
			 count == 1 ? " was" : "s were", first->host, first->port, first->rule);
}
