/* SPDX-License-Identifier: MIT */
#include "mcp/core.h"

#include <string.h>

/* Newest first within each era. */
static const struct mcp_revision revisions[] = {
	{
		.name = "2026-07-28",
		.modern = true,
		.structured = true,
		.annotations = true,
		.icons = true,
		.input_errors_are_results = true,
	},
	{
		.name = "2025-11-25",
		.structured = true,
		.annotations = true,
		.tasks = true,
		.icons = true,
		.input_errors_are_results = true,
	},
	{.name = "2025-06-18", .structured = true, .annotations = true},
	{.name = "2025-03-26", .batches = true, .annotations = true},
	{.name = "2024-11-05", .batches = true},
};

#define REVISIONS (sizeof(revisions) / sizeof(revisions[0]))

const struct mcp_revision *mcp_revision_find(const char *name)
{
	for (size_t i = 0; name != NULL && i < REVISIONS; i++)
		if (strcmp(revisions[i].name, name) == 0)
			return &revisions[i];
	return NULL;
}

const struct mcp_revision *mcp_revision_newest_legacy(void)
{
	size_t i = 0;

	while (revisions[i].modern)
		i++;
	return &revisions[i];
}

json_t *mcp_revision_names(bool modern)
{
	json_t *names = json_array();

	for (size_t i = 0; i < REVISIONS; i++)
		if (revisions[i].modern == modern)
			json_array_append_new(names, json_string(revisions[i].name));
	return names;
}

bool mcp_revision_known(const char *revision)
{
	return mcp_revision_find(revision) != NULL;
}

/* Revisions are dates: one that we do not know yet is of the newer era when it is younger. */
bool mcp_revision_is_modern(const char *revision)
{
	const struct mcp_revision *known = mcp_revision_find(revision);

	if (known != NULL)
		return known->modern;
	return revision != NULL && strlen(revision) == strlen("2026-07-28") &&
	       strcmp(revision, mcp_revision_newest_legacy()->name) > 0;
}
