/* SPDX-License-Identifier: MIT */
/*
 * What the hooks write about an artifact, and names and titles of it that can be shown. All of it
 * may be a program's own invention: nothing here trusts any of it, and nothing fails because of it.
 */
#pragma once

#include <llmsandbox/artifact.h>

#include <stdbool.h>
#include <stddef.h>

#define SBX_META_MAX  (1u << 20)
#define SBX_CHART_MAX (256u << 10)

struct sbx_artifact_meta {
	enum sbx_artifact_kind kind;
	char *mime_type; /* owned; or NULL */
	char *path;	 /* owned; of the user's own file; or NULL */
	char *chart;	 /* owned; or NULL */
	char source[32];
	char title[256];
	uint32_t width, height;
};

/* What does not tell, or makes no sense, is a plot of which nothing is known. */
void sbx_artifact_meta_parse(const char *json, size_t len, struct sbx_artifact_meta *ret);
void sbx_artifact_meta_done(struct sbx_artifact_meta *meta);

/* One line of UTF-8 without anything that steers a terminal or turns the text around. */
void sbx_clean_line(const char *text, char *ret, size_t size);

/* A file's name as it can be had outside: see struct sbx_artifact. Never empty. */
void sbx_clean_name(const char *path, char *ret, size_t size);

/* "000123.png": its number and, where ret_ending is not NULL, its ending; 0 when it is no such. */
uint32_t sbx_artifact_file_number(const char *name, const char **ret_ending);
