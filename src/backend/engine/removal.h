/* SPDX-License-Identifier: MIT */
/*
 * The end of containers that remove themselves. An engine that is asked to remove one while it does so of its
 * own accord has two hands in it at once, and after a hundred of them Docker 20.10 has stopped for good.
 * So a container whose stream has ended is left alone for some seconds; then one question tells which are
 * still there, and only those are removed, one after the other. What the engine does not do now, because it is
 * gone or busy, it is asked again for about a minute; after that the sweep (sweep.h) finds it.
 *
 * One thread for each engine, while there is something to wait for; nobody waits for it.
 */
#pragma once

#include "backend/engine/container.h"

/*
 * Leave it to itself, and with `now` remove it as soon as the engine is there. The name of its session
 * passes over: *container has it no more. Where there is no memory or no thread for that the sweep will.
 */
void engine_removal_leave(const struct engine_client *client, struct engine_container *container,
			  bool now);
