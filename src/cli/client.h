/* SPDX-License-Identifier: MIT */
/*
 * The client's end of a request to the holder of our sessions.
 *
 *	struct client client;
 *	struct answer answer;
 *
 *	r = client_connect(&client, err);
 *	if (r == 0)
 *		r = client_ask(&client, client_request("stop", name), NULL, 0, NULL, &answer, err);
 *	...
 *	answer_done(&answer);
 *	client_close(&client);
 *
 * A connection takes one request.
 */
#pragma once

#include "cli/paper.h"
#include "cli/post.h"

#include <llmsandbox/session.h>

#include <stdbool.h>
#include <stdint.h>

struct client {
	int sock;
};

/* What comes before the answer. NULL functions pass it over. */
struct client_io {
	sbx_output_fn *on_stdout, *on_stderr;
	void (*on_progress)(const struct post_progress *progress, const char *path, void *userdata);
	void *userdata;
	/* Carry our stdin into this pipe's end, which we then own; with carries_stdin. */
	int stdin_pipe_fd;
	bool carries_stdin;
};

struct answer {
	json_t *body;
	int data_fd; /* a file in memory, or -1 */
};

/* Reach the holder; SBX_E_NOT_FOUND when there is none, and so no session. */
int client_connect(struct client *ret, struct sbx_error *err);

/* The same, and start one when there is none; it ends after idle_ms without sessions. */
int client_connect_or_start(uint64_t idle_ms, struct client *ret, struct sbx_error *err);

void client_close(struct client *client);

/* A request of this name about this session (or NULL), to which more may be added. */
json_t *client_request(const char *name, const char *session);

/*
 * Send the request, whose reference is taken over, with descriptors, and wait for the answer;
 * what the holder failed with is our error. io may be NULL.
 */
int client_ask(struct client *client, json_t *request, const int *fds, size_t fd_count,
	       const struct client_io *io, struct answer *ret, struct sbx_error *err);

void answer_done(struct answer *answer);

/* The whole of a short conversation: connect, ask, hang up. */
int client_call(json_t *request, struct answer *ret, struct sbx_error *err);
