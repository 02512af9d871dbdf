/* SPDX-License-Identifier: MIT */
/*
 * A slot is a number that one live sandbox of this machine user has: it names its host ids and
 * its cgroup. Holding it is a lock on a file in the runtime folder, shared with the agent, so the
 * kernel gives the slot up when the last of host and agent is gone, however they end.
 *
 * Whoever takes a slot first sweeps those that nobody holds: their cgroup folders are empty.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct slot {
	unsigned int number;
	int lock_fd;
	int folder_fd;
};

#define SLOT_NONE {.lock_fd = -1, .folder_fd = -1}

/*
 * sweep is called with the file of every dead slot while its lock is held; false: something of
 * it is still ending, so the slot stays for the next sweep.
 */
int slot_take(struct slot *ret, bool (*sweep)(int slot_fd), struct sbx_error *err);
void slot_give(struct slot *slot);
