/* SPDX-License-Identifier: MIT */
/*
 * The control socket of a program: bytes both ways between it and the host, each with credit.
 *
 * What comes of the program is sent behind all that it had written to its stdout and stderr
 * before: when there is something to read the pipes are marked, and it is read once they have
 * been read up to there. So output that waits for credit holds back the words behind it.
 */
#pragma once

#include "agent/input.h"
#include "agent/output.h"
#include "wire/conn.h"

#include <poll.h>
#include <stdbool.h>

struct control {
	int fd;		 /* our end, or -1: none, or the program has closed its */
	struct input in; /* to the program; has a descriptor of its own for the same end */
	size_t credit;	 /* may be sent to the host */
	bool marked;	 /* something is there to read, and the pipes are marked; of it … */
	size_t ready;	 /* … so many bytes; 0: the end */
	bool closing;	 /* the program is over, and … */
	size_t rest;	 /* … what was in the socket then and was not read yet */
};

/* Takes fd, or -1. */
void control_init(struct control *c, int fd);
void control_done(struct control *c);

/* The host takes so many bytes more; -code when that is more than a window. */
int control_grant(struct control *c, size_t bytes, struct sbx_error *err);

struct pollfd control_poll(const struct control *c, const struct sbx_conn *conn);

/*
 * Move what may be moved; the outputs have had their turn before. When the program is over, what
 * is in the socket then is the last of it.
 */
void control_pump(struct control *c, struct sbx_conn *conn, uint32_t channel,
		  struct output outputs[2], bool over);

/* All was read and sent. */
bool control_is_finished(const struct control *c);
