/* SPDX-License-Identifier: MIT */
/*
 * Requests to an engine over its HTTP API (Docker Engine API 1.41 and later), one at a time. The
 * version is negotiated with the first request. Every call has a time limit; what the engine
 * refuses is an error with its own words.
 *
 *	r = engine_client_open(&client, &engine_docker, err);
 *	r = engine_call(client, &(struct engine_request){.method = "POST", .path = path,
 *							  .body = json}, &answer, err);
 *	...
 *	json_decref(answer);
 *	engine_client_close(client);
 *
 * The engine is trusted as far as the machine trusts it; its answers are bounded all the same.
 */
#pragma once

#include "backend/engine/flavor.h"
#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct engine_client;

/* A piece of an answer that comes in pieces; anything but 0 stops it. */
typedef int engine_piece_fn(const void *data, size_t len, void *userdata, struct sbx_error *err);

/* The next bytes of a body, at most len; 0 at its end, -1 to stop. */
typedef ssize_t engine_fill_fn(void *data, size_t len, void *userdata);

struct engine_request {
	const char *method;
	const char *path;	/* behind the version: "/containers/create?name=x" */
	const json_t *body;	/* as JSON, or NULL */
	const void *raw;	/* another body, of raw_len bytes, or NULL */
	size_t raw_len;
	const char *raw_type;
	engine_fill_fn *fill; /* in place of raw: raw_len bytes come from here, by a connection of its own */
	void *fill_data;
	const char *auth;	/* X-Registry-Auth, or NULL */
	uint64_t timeout_ms;	/* 0: 60 s */
	engine_piece_fn *on_piece; /* instead of the answer's JSON */
	void *userdata;
	unsigned int accept; /* a status that is no failure, besides those below 400 */
};

/*
 * What was learned of an engine is kept for the next client in this process, and so is the connection
 * (known.h): only the first one asks for its version. A client is used by one thread at a time.
 */
int engine_client_open(struct engine_client **ret, const struct engine_flavor *flavor,
		       struct sbx_error *err);
void engine_client_close(struct engine_client *client);

/* Another one to the same engine. */
int engine_client_open_again(const struct engine_client *client, struct engine_client **ret,
			     struct sbx_error *err);

/* What the engine turned out to be: Podman may stand behind DOCKER_HOST. */
const struct engine_flavor *engine_client_flavor(const struct engine_client *client);

/* "the Docker engine at unix:///run/docker.sock": for messages. */
const char *engine_client_title(const struct engine_client *client, char ret[256]);

/* Whether its socket is on this machine. */
bool engine_client_is_local(const struct engine_client *client);

/* Whether nobody on the way can read what is said to it. */
bool engine_client_is_private(const struct engine_client *client);

/* Where it is, as messages call it: "unix:///run/docker.sock". */
const char *engine_client_address(const struct engine_client *client);

/* Whose the socket is, where it is on this machine: who has started the engine, or root. */
bool engine_client_owner(const struct engine_client *client, uid_t *ret);

/* What known.h knows the engine by. */
const char *engine_client_key(const struct engine_client *client);

/* From now on a call ends early, within a second or so, when this says so; a creation or removal of
 * a container does not. */
void engine_client_give_up_when(struct engine_client *client, bool (*is_given_up)(const void *userdata),
				const void *userdata);

/* From now on a call ends early, within a second or so, when this socket hangs up; -1: none. */
void engine_client_watch(struct engine_client *client, int fd);

/*
 * *ret_answer is the JSON of the answer, or NULL when there is none; the caller's. An answer that is
 * not JSON where it is wanted, a redirect, more than 16 MiB, endless heads: each is an error.
 */
int engine_call(struct engine_client *client, const struct engine_request *request,
		json_t **ret_answer, struct sbx_error *err);

/* The status of the last call. */
unsigned int engine_status(const struct engine_client *client);

/* The first of a list of objects that an engine told in which key is this text; NULL: none is. */
const json_t *engine_find(const json_t *list, const char *key, const char *text);

/*
 * A request whose connection becomes a raw stream in both directions: the streams of a container,
 * framed as the API frames them (unframe.h), unless it has a terminal.
 */
struct engine_stream;

int engine_stream_open(struct engine_client *client, const char *path, const json_t *body,
		       struct engine_stream **ret, struct sbx_error *err);

/* The socket to wait for; and reading and writing it: bytes, 0 at its end, or -errno. */
int engine_stream_fd(const struct engine_stream *stream);
ssize_t engine_stream_read(struct engine_stream *stream, void *data, size_t len);
ssize_t engine_stream_write(struct engine_stream *stream, const void *data, size_t len);

/* Nothing more will be written; where TLS has no word for that, it is left to the close. */
void engine_stream_shutdown(struct engine_stream *stream);

/* Both directions end, for whoever waits at it too. From any thread, while it is not closed. */
void engine_stream_hang_up(struct engine_stream *stream);

/* That the engine itself says that there are frames. */
bool engine_stream_is_framed(const struct engine_stream *stream);

void engine_stream_close(struct engine_stream *stream);
