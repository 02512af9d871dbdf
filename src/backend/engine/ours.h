/* SPDX-License-Identifier: MIT */
/*
 * The sessions of this process that have a container, or are about to: by their names, which their
 * containers carry as a label. What bears this process's name as its owner and is not among them was
 * lost: its engine vanished between making it and saying so, or could not remove it. For any thread.
 */
#pragma once

#include <stdbool.h>

#define ENGINE_SESSION_MAX 33

/* A new name, 32 hexadecimal digits; it is among ours from now on. */
void engine_ours_add(char ret[ENGINE_SESSION_MAX]);

/* Nobody has it any more; "" is nobody's. */
void engine_ours_remove(const char *name);

/*
 * Whether this library in this process made the name, and has it no more. Another copy of the library
 * in the same process makes other names.
 */
bool engine_ours_is_lost(const char *name);
