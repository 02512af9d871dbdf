/* SPDX-License-Identifier: MIT */
/* The inside of a client, for client.c, line.c and stream.c alone. */
#pragma once

#include "backend/engine/client.h"
#include "backend/engine/curl.h"
#include "backend/engine/endpoint.h"
#include "backend/engine/ssh.h"
#include "backend/engine/words.h"

#include <signal.h>

#define ENGINE_LINE_CHILDREN 4

/* What libcurl has of a connection, and where it goes over programs these. */
struct engine_line {
	CURL *easy;
	struct engine_door door;
	struct engine_ssh children[ENGINE_LINE_CHILDREN];
	char words[ENGINE_WORDS_MAX]; /* what the last one that ended had to say */
	char detail[CURL_ERROR_SIZE]; /* libcurl's, of the last failure */
	char *const *command;	      /* how to start one; the endpoint's */
};

struct engine_client {
	const struct engine_flavor *asked;  /* where it was looked for */
	const struct engine_flavor *flavor; /* what it turned out to be */
	const struct engine_curl *curl;
	struct engine_endpoint endpoint;
	char *key; /* of known.h */
	struct engine_line *line;
	int watch_fd;	     /* a call ends early when this hangs up; or -1 */
	bool (*is_given_up)(const void *userdata); /* and when this says so; or NULL */
	const void *give_up_data;
	char version[16];    /* "1.41"; "" until it is negotiated */
	unsigned int status; /* of the last call */
	bool broken;	     /* the connection is in no state to be used again */
};

/* Whether the opener of a session wants its end. */
bool engine_client_is_given_up(const struct engine_client *client);

struct engine_line *engine_line_new(const struct engine_curl *curl);
void engine_line_free(const struct engine_curl *curl, struct engine_line *line);

/* Set what every connection to the engine needs. */
void engine_line_prepare(const struct engine_client *client, struct engine_line *line);

/* Why there is no connection, in a sentence that says what to do. */
int engine_line_fail(const struct engine_client *client, const struct engine_line *line,
		     CURLcode code, struct sbx_error *err);

/* The sentence for a refusal with this status, whose body is text, with the engine's own words. */
int engine_client_refused(const struct engine_client *client, unsigned int status, const char *text,
			  size_t len, struct sbx_error *err);

/*
 * TLS libraries write to sockets without MSG_NOSIGNAL. Between these two SIGPIPE does not reach the
 * program, whatever it does with that signal.
 */
struct engine_quiet {
	sigset_t before;
	bool was_pending;
};
void engine_quiet_begin(struct engine_quiet *quiet);
void engine_quiet_end(const struct engine_quiet *quiet);
