/* SPDX-License-Identifier: MIT */
/*
 * What a container is in truth, whatever its engine was asked for: read of the kernel from inside, once,
 * before the agent puts up anything of its own.
 */
#pragma once

#include "wire/message.h"

/* folders: those in memory that are for programs, NULL-terminated; uid: whom programs run as. */
void surroundings_look(struct wire_surroundings *ret, char *const *folders, uint32_t uid);
