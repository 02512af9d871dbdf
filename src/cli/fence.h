/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Give up, for this process and for ever, all but computing on what is open: no new file, socket,
 * process or program. Calls that are not allowed fail with EPERM. False: the kernel has no such
 * fence, and nothing hostile should be read.
 */
bool fence_close(size_t memory_bytes, unsigned int cpu_seconds);
