/* SPDX-License-Identifier: MIT */
/*
 * Programs in the background of sessions, as the holder knows them. One that runs keeps its
 * session from being idle; what it came to is kept until its session is gone.
 *
 * A thread looks after them: it takes what a program came to as soon as it is over, and lets a
 * session go that is to end.
 */
#pragma once

#include <llmsandbox/registry.h>
#include <llmsandbox/session.h>

#include <jansson.h>
#include <stdbool.h>

struct programs;

int programs_new(struct sbx_registry *registry, struct programs **ret, struct sbx_error *err);

/* Before the registry. Kills those that run. NULL is allowed. */
void programs_free(struct programs *programs);

/*
 * Start one in the session of this id; *ret_id is its number there. SBX_E_LIMIT when too many
 * run there.
 */
int programs_start(struct programs *programs, const char *session_id,
		   const struct sbx_command *command, unsigned int *ret_id, struct sbx_error *err);

/* Those of a session, by its id, as an array of objects. */
json_t *programs_list(struct programs *programs, const char *session_id);

/* One of them; SBX_E_NOT_FOUND. */
struct program_state {
	bool running;
	int exit_code; /* where it is over */
	enum sbx_reason reason;
	char message[256];
	struct sbx_output out, errout; /* so far; program_state_done() frees them */
};
int programs_look(struct programs *programs, const char *session_id, unsigned int id,
		  struct program_state *ret, struct sbx_error *err);
void program_state_done(struct program_state *state);

/* Whether it is over, or not known: the cheap question. */
bool programs_is_over(struct programs *programs, const char *session_id, unsigned int id);

/* Kill one with all that it started; no error when it is over. */
int programs_kill(struct programs *programs, const char *session_id, unsigned int id,
		  struct sbx_error *err);
