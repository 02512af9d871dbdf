/* SPDX-License-Identifier: MIT */
#pragma once

#include <limits.h>
#include <stdbool.h>

/* A program beside our own file: where both are installed, and where both are built. */
bool beside_find(const char *name, char ret[PATH_MAX]);
