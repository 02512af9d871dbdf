/* SPDX-License-Identifier: MIT */
/*
 * Stdin of a program, or its control socket's one way: what the host sent and the program has not
 * read yet, at most the credit that the host was given. A program that closed its end loses the
 * rest silently, as in a pipeline of a shell.
 */
#pragma once

#include "wire/conn.h"

#include <stdbool.h>

struct input {
	int fd; /* our end of it, or -1: none, or closed */
	enum wire_flow flow;
	struct sbx_buf waiting;
	size_t at;
	size_t owed; /* bytes the host may send no more until we grant them again */
	bool ended;  /* STDIN_EOF was received */
};

void input_init(struct input *in, int fd, enum wire_flow flow);
void input_done(struct input *in);

/* False when the host sent more than its credit. */
bool input_add(struct input *in, const void *data, size_t len);
void input_end(struct input *in);

bool input_wants_write(const struct input *in);

/* Write what the program takes; when all is written or lost, grant the host as much again. */
void input_pump(struct input *in, struct sbx_conn *conn, uint32_t channel);
