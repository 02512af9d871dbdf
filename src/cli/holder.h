/* SPDX-License-Identifier: MIT */
/*
 * The holder: a process per user that owns the named sessions. `session start` starts it, it
 * serves whoever connects to its socket in the runtime folder, and ends when it has had neither
 * a session nor a client for a while. No session outlives it.
 *
 * Its main thread takes connections and what clients send; a thread per request does the work
 * and answers. A client that hangs up cancels its request, and one that does not read holds up
 * its own thread alone.
 */
#pragma once

#include <llmsandbox/error.h>

#include <stdint.h>

#define HOLDER_PROTOCOL 2 /* of requests and answers: another one is refused */

/* Start it unless somebody has meanwhile, and wait until it can be reached. */
int holder_start(uint64_t idle_ms, struct sbx_error *err);

/*
 * Be the holder, until it ends. ready_fd, if not negative, gets a byte 0 when clients may come,
 * or the sentence of what went wrong. Returns the exit status.
 */
int holder_run(uint64_t idle_ms, int ready_fd);
