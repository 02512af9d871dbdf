/* SPDX-License-Identifier: MIT */
#include "agent/guest.h"

#include "agent/removal.h"
#include "agent/user.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void guest_arrive(struct guest *g, const char *program)
{
	const char *slash = strrchr(program, '/');
	char folder[256];

	g->is_guest = true;
	if (slash == NULL || slash == program || slash - program >= (int)sizeof(folder))
		return;
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - program), program);
	if (unlink(program) == 0)
		rmdir(folder);
}

int guest_make_folder(struct guest *g, const struct wire_setup *setup)
{
	if (!g->is_guest)
		return 0;
	if (mkdir(setup->workdir, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	g->made_folder = true;
	return chown(setup->workdir, setup->uid, setup->gid) < 0 ? -errno : 0;
}

void guest_leave(struct guest *g, const struct agent_fence *fence)
{
	struct removal removal;
	int r;

	if (!g->made_folder)
		return;
	act_as_user(fence);
	r = removal_begin(&removal, fence, fence->setup->workdir, true);
	if (r == 0) {
		while (removal_step(&removal) == 0)
			;
		removal_done(&removal);
	}
	act_as_agent(fence);
	/* Where its parent lets the user remove nothing it is still there, and empty. */
	rmdir(fence->setup->workdir);
}
