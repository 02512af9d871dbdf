/* SPDX-License-Identifier: MIT */
/*
 * The agent in a container that is somebody else's (--guest): its own file is gone as soon as it runs,
 * the work folder is made for this session, and removed with all in it when the session ends.
 */
#pragma once

#include "agent/fence.h"

struct guest {
	bool is_guest;
	bool made_folder; /* the work folder: it goes with us */
};

/* Remove the program that we are, and the folder that it was brought in. */
void guest_arrive(struct guest *g, const char *program);

/* Make the work folder, the user's alone, unless it is there. -errno. */
int guest_make_folder(struct guest *g, const struct wire_setup *setup);

/* Remove it, when no program runs any more. */
void guest_leave(struct guest *g, const struct agent_fence *fence);
