/* SPDX-License-Identifier: MIT */
/*
 * A stream as a file that another process of ours can open by its path, so that it arrives
 * whole or not at all, whatever its size. In a folder of its own that nobody else can enter.
 */
#pragma once

#include <llmsandbox/error.h>

struct spool {
	char folder[256];
	char path[272];
};

int spool_take(int fd, struct spool *ret, struct sbx_error *err);

/* Async-signal-safe; also while spool_take() is at work on a zeroed one. */
void spool_done(const struct spool *spool);
