/* SPDX-License-Identifier: MIT */
/*
 * The ssh program with a socket at its other end: how an engine on another machine is reached.
 * What it says on stderr is kept, bounded, for the message when it fails.
 */
#pragma once

#include "backend/engine/words.h"
#include "base/error.h"

/*
 * libcurl wants to connect its socket itself (what is connected already it takes, but not in every
 * version). So it is given a door: the path of a socket that is there for one connection of this very
 * process, and leads to the program's stdin and stdout. The name stays the same: by it libcurl knows
 * that a connection can be used again. (It knows none in the abstract namespace.)
 */
struct engine_door {
	char path[108]; /* "": it has no name yet */
};

void engine_door_name(struct engine_door *door);

struct engine_ssh {
	int fd; /* the other end; whoever closes it calls engine_ssh_end() then; -1: there is none */
	int words_fd;
	int pid_fd;
};

/* Start it with these words, for fd, which will be connected to the door now. */
int engine_ssh_start(char *const command[], const struct engine_door *door, int fd,
		     struct engine_ssh *ret, struct sbx_error *err);

/* End it, and give what it had to say. */
void engine_ssh_end(struct engine_ssh *ssh, char words[ENGINE_WORDS_MAX]);

/*
 * The words for "ssh://[user@]host[:port][/path]", of which rest is what follows the scheme; program is
 * what speaks to the engine there, and takes option for the path of its socket. NULL-terminated, owned.
 * Names that would be options, and what a shell there would take apart, are refused.
 */
struct engine_ssh_target {
	const char *variable; /* whose value it is, for messages */
	const char *rest;
	const char *shown; /* all of it, for messages */
	const char *program, *option;
	const char *identity; /* a file with a key, or NULL */
};

int engine_ssh_command(const struct engine_ssh_target *target, char ***ret, struct sbx_error *err);
