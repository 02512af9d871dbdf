/* SPDX-License-Identifier: MIT */
#include "cli/paper_artifacts.h"

#include "cli/paper.h"
#include "cli/trouble.h"

#include <stdio.h>

#define ARTIFACTS_MAX 10000 /* the most that SBX_LIMIT_ARTIFACTS can be */

json_t *paper_artifacts(const struct sbx_result *result)
{
	json_t *array = json_array();

	for (size_t i = 0; i < result->artifact_count; i++) {
		const struct sbx_artifact *a = &result->artifacts[i];

		json_array_append_new(
			array,
			json_pack("[I, i, o, o, o, o, I, I, I, o]", (json_int_t)a->number,
				  (int)a->kind, paper_text(a->name), paper_text(a->mime_type),
				  paper_text(a->source), paper_text(a->title), (json_int_t)a->width,
				  (json_int_t)a->height, (json_int_t)a->size, paper_text(a->path)));
	}
	return array;
}

static void take_text(const json_t *row, size_t n, char *ret, size_t size)
{
	auto_free char *text = paper_bytes(json_array_get(row, n));

	snprintf(ret, size, "%s", text ? text : "");
}

static bool take_artifact(const json_t *row, struct sbx_artifact *ret)
{
	json_int_t kind = json_integer_value(json_array_get(row, 1));

	if (kind < SBX_ARTIFACT_PLOT || kind > SBX_ARTIFACT_FILE)
		return false;
	ret->number = (uint32_t)json_integer_value(json_array_get(row, 0));
	ret->kind = (enum sbx_artifact_kind)kind;
	take_text(row, 2, ret->name, sizeof(ret->name));
	take_text(row, 3, ret->mime_type, sizeof(ret->mime_type));
	take_text(row, 4, ret->source, sizeof(ret->source));
	take_text(row, 5, ret->title, sizeof(ret->title));
	ret->width = (uint32_t)json_integer_value(json_array_get(row, 6));
	ret->height = (uint32_t)json_integer_value(json_array_get(row, 7));
	ret->size = (uint64_t)json_integer_value(json_array_get(row, 8));
	ret->path = paper_bytes(json_array_get(row, 9));
	return ret->path != NULL;
}

bool paper_take_artifacts(const json_t *array, struct sbx_result *ret)
{
	size_t count = json_array_size(array);
	bool good = true;

	if (count == 0)
		return true;
	ret->artifacts = count <= ARTIFACTS_MAX ? calloc(count, sizeof(*ret->artifacts)) : NULL;
	if (ret->artifacts == NULL)
		return false;
	ret->artifact_count = count;
	for (size_t i = 0; good && i < count; i++)
		good = take_artifact(json_array_get(array, i), &ret->artifacts[i]);
	return good;
}

void paper_free_artifacts(struct sbx_result *result)
{
	for (size_t i = 0; i < result->artifact_count; i++)
		free(result->artifacts[i].path);
	free(result->artifacts);
	result->artifacts = NULL;
	result->artifact_count = 0;
}
