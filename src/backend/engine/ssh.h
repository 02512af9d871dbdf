/* SPDX-License-Identifier: MIT */
/*
 * The ssh program with a socket at its other end: how an engine on another machine is reached.
 * What it says on stderr is kept, bounded, for the message when it fails.
 */
#pragma once

#include "backend/engine/words.h"
#include "base/error.h"

#include <sys/types.h>

struct engine_ssh {
	int fd; /* whoever closes it calls engine_ssh_end() then; -1: there is none */
	int words_fd;
	int pid_fd;
	pid_t pid;
};

/* Start it with these words. */
int engine_ssh_start(char *const command[], struct engine_ssh *ret, struct sbx_error *err);

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
	const char *program, *option;
	const char *identity; /* a file with a key, or NULL */
};

int engine_ssh_command(const struct engine_ssh_target *target, char ***ret, struct sbx_error *err);
