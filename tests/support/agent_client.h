/* SPDX-License-Identifier: MIT */
/*
 * The host's side of a conversation with one agent, which runs as a plain child of the test in a
 * folder of its own. Everything that is waited for has a deadline; what goes wrong fails the
 * test that runs (cmocka).
 *
 *	struct agent_client c;
 *	struct agent_run run;
 *
 *	agent_client_start(&c);
 *	agent_client_shell(&c, "echo hello", &run);
 *	assert_string_equal(run.out[0].data, "hello\n");
 *	agent_run_done(&run);
 *	agent_client_stop(&c);
 *
 * The agent's program is named by the environment variable SBX_TEST_AGENT.
 */
#pragma once

#include "wire/conn.h"
#include "wire/message.h"

#include <stdbool.h>
#include <sys/types.h>

struct agent_client {
	struct sbx_conn conn;
	pid_t pid;	  /* of the agent */
	char folder[32];  /* its work folder */
	uint32_t channel; /* the last that was used */
};

/* What a channel came to. */
struct agent_run {
	uint32_t channel;
	bool failed; /* by ERROR, which code and text are of; else by EXIT or CLOSE */
	uint32_t code;
	char text[512];
	struct wire_exit exit;
	struct sbx_buf out[2]; /* STDOUT or DATA, STDERR */
	struct sbx_buf names;  /* of ENTRY frames, each with a newline */
	size_t stdin_credit;
};

/* Start one and take its HELLO. */
void agent_client_start_bare(struct agent_client *c);

/* Start one, set it up with its folder as the work folder, and take its READY. */
void agent_client_start(struct agent_client *c);

/* End the stream, wait until the agent is gone and remove its folder. */
void agent_client_stop(struct agent_client *c);

/* Send; a payload that is NULL is empty. */
void agent_client_send(struct agent_client *c, enum wire_type type, uint32_t channel,
		       const void *payload, size_t len);
void agent_client_send_raw(struct agent_client *c, const void *data, size_t len);
void agent_client_grant(struct agent_client *c, uint32_t channel, enum wire_flow flow, size_t n);
void agent_client_signal(struct agent_client *c, uint32_t channel, int signo,
			 enum wire_scope scope);

/* Send EXEC, or PUT with its data and CLOSE, on a new channel, which is returned. */
uint32_t agent_client_exec(struct agent_client *c, const struct wire_exec *exec);
uint32_t agent_client_put(struct agent_client *c, const char *path, uint32_t mode,
			  const void *data, size_t len);

/* The next frame: false at the end of the stream. */
bool agent_client_next(struct agent_client *c, struct wire_frame *ret);

/* Take frames until the channel is over, granting as much as comes. */
void agent_client_finish(struct agent_client *c, uint32_t channel, struct agent_run *ret);

/* Take one frame of the channel into run: true when the channel is over. */
bool agent_run_take(struct agent_client *c, struct agent_run *run, bool grant);
void agent_run_init(struct agent_run *run, uint32_t channel);
void agent_run_done(struct agent_run *run);

/* Run a line of sh(1) to its end, in one go. */
void agent_client_shell(struct agent_client *c, const char *line, struct agent_run *ret);

/* The argv and environment of such a line, for those who want to change more of it. */
struct wire_exec agent_client_line(char *argv[4], const char *line);

/* The stream must end now: true when it does, after ERROR on channel 0 with this code. */
bool agent_client_ends_with(struct agent_client *c, enum sbx_code code);
