/* SPDX-License-Identifier: MIT */
/*
 * Between the two, what the agent does with files is done as the sandbox's user (setfsuid(2)):
 * no operation can do more than a program could, and what it makes is the program's. Nothing
 * changes where the agent is that user already.
 */
#pragma once

#include "agent/fence.h"

#include <sys/fsuid.h>
#include <unistd.h>

static inline void act_as_user(const struct agent_fence *fence)
{
	if (!fence->switch_user)
		return;
	setfsgid(fence->setup->gid);
	setfsuid(fence->setup->uid);
}

static inline void act_as_agent(const struct agent_fence *fence)
{
	if (!fence->switch_user)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
}
