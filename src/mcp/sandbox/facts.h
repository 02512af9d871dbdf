/* SPDX-License-Identifier: MIT */
/* What a model should know of each language and nobody can ask the machine: rows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct mcp_example {
	const char *title, *description, *code;
};

struct mcp_facts {
	const char *language; /* id */
	const char *tool_chain; /* before its version: "OpenJDK" */
	const char *package_manager;
	const char *const *use_cases; /* NULL-terminated */
	bool visualization_support;
	const struct mcp_example *examples; /* ends with one without title; each runs, offline */
};

/* NULL for a language without a row. */
const struct mcp_facts *mcp_facts_find(const char *language);
