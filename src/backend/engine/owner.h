/* SPDX-License-Identifier: MIT */
/*
 * Who made a container, as a label that says whether he is still there: the machine, its boot, the
 * namespaces, the process and when it started, so that no other process is mistaken for it when its
 * number is used again, and no machine judges another's.
 */
#pragma once

#include <stdbool.h>

#define ENGINE_OWNER_MAX 192

enum engine_owner_state {
	ENGINE_OWNER_UNKNOWN, /* of another machine or another container: not ours to judge */
	ENGINE_OWNER_RUNS,
	ENGINE_OWNER_GONE,
	ENGINE_OWNER_EARLIER, /* of this machine by its name, before it was started last */
};

/* Of this process; "" where /proc does not say. */
const char *engine_owner_format(char ret[ENGINE_OWNER_MAX]);

enum engine_owner_state engine_owner_judge(const char *owner);
