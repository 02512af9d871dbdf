/* SPDX-License-Identifier: MIT */
/* What an installer says, on stderr where that is a terminal, and in a way that cannot steer it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether somebody is there to read it. */
bool progress_is_wanted(void);

/* As sbx_install_fn; userdata is not used. */
void progress_print(const char *text, size_t len, void *userdata);
