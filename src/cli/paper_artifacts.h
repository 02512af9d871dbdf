/* SPDX-License-Identifier: MIT */
/* What a run left behind, between the command line and the holder: see paper.h. */
#pragma once

#include <llmsandbox/result.h>

#include <jansson.h>

/* The artifacts of a result, as an array; NULL without memory. Charts stay in the JSON of a result.
 */
json_t *paper_artifacts(const struct sbx_result *result);

/* The same back, into *ret's artifacts, which paper_free_artifacts() frees. False: malformed. */
bool paper_take_artifacts(const json_t *array, struct sbx_result *ret);
void paper_free_artifacts(struct sbx_result *result);
