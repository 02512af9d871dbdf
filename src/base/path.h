/* SPDX-License-Identifier: MIT */
/* Paths as text; nothing here asks the file system. */
#pragma once

#include <stdbool.h>
#include <string.h>

/* Absolute, no empty, "." or ".." component, no slash at the end (but "/" itself is clean). */
bool sbx_path_is_clean(const char *path);

/* path is folder or something below it; both clean. */
bool sbx_path_is_below(const char *path, const char *folder);

/* One name that may stand in a folder: not empty, "." or "..", no slash, at most 255 bytes. */
bool sbx_path_is_component(const char *name);

/* A clean path below some folder, "a/b": no slash at an end, as long as the kernel takes. */
bool sbx_path_is_relative(const char *path);
