/* SPDX-License-Identifier: MIT */
#pragma once

#include "cli/target.h"

/* Start a command in the background of the settings' session; returns the exit status. */
int background_start(const struct settings *s, const struct job *job);
