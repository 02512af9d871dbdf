/* SPDX-License-Identifier: MIT */
/*
 * The folder of this user where things are kept that can be made again:
 * $XDG_CACHE_HOME/llm-sandbox, ~/.cache/llm-sandbox, for root /var/cache/llm-sandbox. What is in
 * it may be deleted at any time. What others can write to is nothing that we believe, and nothing
 * to put files in.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* Its path, whether it exists or not; false when this user has no place for one. */
bool sbx_cache_path(char ret[PATH_MAX]);

/* A folder that we own and nobody else can write to. */
bool sbx_cache_is_ours(const struct stat *st);

/* A descriptor of a folder in the cache folder ("." for itself), made when asked to, or -1. */
int sbx_cache_open(const char *name, bool make);
