/* SPDX-License-Identifier: MIT */
/*
 * A container's stream and the socket that the session has of it. The engine frames what a container
 * writes: a header of 8 bytes says which stream, and how much. A relay takes the frames off, and has a
 * thread that moves bytes until either end is closed.
 *
 * What the container writes on stderr is not the agent's: it is why there is none.
 */
#pragma once

#include "backend/engine/client.h"

#define ENGINE_WORDS_MAX 512

struct engine_relay {
	struct engine_stream *stream;
	int fd;			      /* our end of the session's socket */
	char words[ENGINE_WORDS_MAX]; /* what came on stderr, or "" */
};

/* Move bytes until an end is closed; both are then. On a thread of its own. */
void engine_relay_run(struct engine_relay *relay);
