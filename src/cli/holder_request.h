/* SPDX-License-Identifier: MIT */
/*
 * One request in the holder: read from its paper, served on a thread of its own, answered.
 *
 * The main thread owns the struct, feeds it what the client sends later, and frees it when the
 * thread has told that it is done. The thread alone sends to the client.
 */
#pragma once

#include "cli/paper.h"
#include "cli/post.h"

#include <llmsandbox/registry.h>
#include <llmsandbox/session.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct hall;

struct request {
	struct hall *hall;
	int sock;
	int fds[POST_FDS_MAX]; /* the paper, and what came with it; -1 where taken or none */
	struct sbx_cancel *cancel;
	atomic_bool gone; /* the client hung up, or was sent away */
	/* of the thread: */
	json_t *body;
	json_t *answer;		     /* an object, to be added to */
	int data_fd;		     /* to go with the answer, or -1 */
	int failed;		     /* -errno of sending */
	struct sbx_session *session; /* that it holds, or NULL */
	uint64_t told_ns;	     /* when progress was told last */
};

struct given;

/* What all requests share. */
struct hall {
	struct sbx_registry *registry;
	struct programs *programs;
	pthread_mutex_t naming;	  /* a name is chosen under it */
	struct given *given;	  /* names of sessions that are being opened; its too */
	atomic_bool asked_to_end; /* the last session is to take the holder with it */
};

/* Serve a request to its end and send the answer. */
void request_serve(struct request *q);

/* ---- for those who serve ---- */

/* A row serves one name of requests: fills q->answer, or fails. */
struct request_row {
	const char *name;
	int (*serve)(struct request *q, struct sbx_error *err);
};
extern const struct request_row session_requests[], run_requests[], file_requests[],
	kernel_requests[];

#define REQUEST_OWNER	"command line" /* of our sessions in the registry */
#define REQUEST_ID_SIZE sizeof(((struct sbx_session_info *)NULL)->id)

/*
 * Send to the client; the first failure kills what the request runs. A client that does not read
 * must not keep its session from ending.
 */
void request_send(struct request *q, enum post_type type, const void *data, size_t len);

/* A text of bytes, which the caller frees; SBX_E_INVALID when there is none. */
int request_text(const struct request *q, const char *key, char **ret, struct sbx_error *err);

/* A list of texts, at most as many as anybody could have on a command line. */
int request_list(const struct request *q, const char *key, char ***ret, struct sbx_error *err);

uint64_t request_number(const struct request *q, const char *key);
bool request_flag(const struct request *q, const char *key);

/* The n-th descriptor behind the paper, or -1; it stays the request's. */
int request_fd(const struct request *q, size_t n);

/*
 * The session that the request names, for this request alone: waits for those before it. Its
 * name goes to *ret_name, which the caller frees. SBX_E_NOT_FOUND suggests the nearest.
 */
int request_acquire(struct request *q, struct sbx_session **ret, struct sbx_error *err);
void request_release(struct request *q, struct sbx_session *session);

/* The id of the session that the request names. */
int request_session_id(struct request *q, char ret[REQUEST_ID_SIZE], struct sbx_error *err);

/* Add to an error about a session the name that was perhaps meant. */
void request_suggest(struct request *q, const char *name, struct sbx_error *err);

/* Put these bytes beside the answer. */
int request_attach(struct request *q, const void *data, size_t len, struct sbx_error *err);
