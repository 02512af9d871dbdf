/* SPDX-License-Identifier: MIT */
/*
 * A container's stream and the socket that the session has of it. The engine frames what a container
 * writes (unframe.h). A relay takes the frames off, and has a thread that moves bytes until the engine's
 * end is closed, or the session's is in both directions. When the session only says no more, the
 * container is told so and may go on speaking.
 *
 * What the container writes on stderr is not the agent's: it is why there is none.
 */
#pragma once

#include "backend/engine/client.h"
#include "backend/engine/words.h"

struct engine_relay {
	struct engine_stream *stream;
	int fd;	  /* our end of the session's socket */
	bool hold; /* nothing is said to the container before it has spoken: until then another may take its place */
	bool raw; /* the container has a terminal: there are no frames, unless the engine says so */
	char words[ENGINE_WORDS_MAX]; /* the first that came on stderr, as it came */
	size_t words_len;
	bool heard;	/* something came on stdout */
	bool malformed; /* the stream ended because it was no such stream */
};

/*
 * Move bytes until it is over; the stream is hung up then, and to be closed by the caller, as is the socket.
 * On a thread of its own.
 */
void engine_relay_run(struct engine_relay *relay);

/* Why there is no agent, as far as the stream said: cleaned, or "". Once it is over. */
const char *engine_relay_words(const struct engine_relay *relay, char ret[ENGINE_WORDS_MAX]);
