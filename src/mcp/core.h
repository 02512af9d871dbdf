/* SPDX-License-Identifier: MIT */
/*
 * The inside of the protocol core, for its files alone; transports read transport.h and makers
 * of servers mcp.h.
 *
 * A message becomes a struct mcp_request, which lives on the loop's thread until its stream is
 * finished. What runs code of a row has a struct mcp_call on top, which a worker fills; the two
 * meet in two places only: the worker posts messages to the loop (post.c), and the loop sets
 * flags and wakes the worker (call.c).
 */
#pragma once

#include "mcp/transport.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/queue.h>

#define MCP_META_PROTOCOL     "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CLIENT_CAPS  "io.modelcontextprotocol/clientCapabilities"
#define MCP_META_LOG_LEVEL    "io.modelcontextprotocol/logLevel"
#define MCP_META_SERVER_INFO  "io.modelcontextprotocol/serverInfo"
#define MCP_META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"
#define MCP_META_RELATED_TASK "io.modelcontextprotocol/related-task"
#define MCP_EXTENSION_TASKS   "io.modelcontextprotocol/tasks"

/* ---- revisions (revision.c) ---- */

struct mcp_revision {
	const char *name;
	bool modern;	 /* every request for itself, server/discover */
	bool batches;	 /* arrays of messages */
	bool structured; /* structuredContent, outputSchema, title */
	bool annotations;
	bool tasks;	 /* in the core of the protocol */
	bool icons;
	bool input_errors_are_results; /* bad arguments of a tool: a result with isError */
};

const struct mcp_revision *mcp_revision_find(const char *name);
const struct mcp_revision *mcp_revision_newest_legacy(void);

/* The names of all modern revisions, or of all legacy ones, newest first; the caller's. */
json_t *mcp_revision_names(bool modern);

/* ---- levels of logs (log.c) ---- */

/* The rank of "debug" 0 … "emergency" 7, or -1. */
int mcp_level_rank(const char *level);

/* ---- requests ---- */

struct mcp_method;
struct mcp_task;

struct mcp_request {
	struct mcp_server *server;
	struct mcp_session *session;
	struct mcp_stream *stream;   /* NULL: the client is gone */
	const struct mcp_method *method;
	const struct mcp_revision *revision;
	json_t *id;		     /* never NULL */
	json_t *params;		     /* an object */
	json_t *client_caps;	     /* borrowed from params or the session; may be NULL */
	int log_rank;		     /* of the lowest level that the client wants; INT_MAX: none */
	struct mcp_call *call;	     /* runs a row for us, or NULL */
	struct mcp_task *waits_for;  /* tasks/result: the task, or NULL */
	json_t *listens;	     /* a subscription: what it asked for, or NULL */
	TAILQ_ENTRY(mcp_request) link; /* of its session */
};

TAILQ_HEAD(mcp_requests, mcp_request);

/* End a request with a result or an error; the request is gone. They take the references. */
void mcp_request_succeed(struct mcp_request *r, json_t *result);
void mcp_request_fail(struct mcp_request *r, int code, int status, json_t *data, const char *format,
		      ...) __attribute__((format(printf, 5, 6)));

/* Say something on the way; takes the reference. Does nothing when the client is gone. */
void mcp_request_say(struct mcp_request *r, json_t *message);

/* End without an answer, as a cancelled request does. */
void mcp_request_drop(struct mcp_request *r);

/* As the revision tells that there is no such resource. why may be NULL. */
void mcp_refuse_resource(struct mcp_request *r, const char *uri, const char *why);

/* ---- sessions ---- */

struct mcp_session {
	struct mcp_server *server;
	enum mcp_session_kind kind;
	char client[MCP_ID_SIZE]; /* its name for rows, or "" */
	const struct mcp_revision *revision; /* agreed upon by initialize; NULL before */
	json_t *client_caps;		     /* of initialize */
	int log_rank;			     /* logging/setLevel, or the default */
	json_t *subscriptions;		     /* URIs of resources/subscribe, as keys */
	struct mcp_stream *unsolicited;
	bool deaf;			     /* nothing comes in any more */
	struct mcp_requests requests;
	size_t open;			     /* of them */
	unsigned int next_question;	     /* number of the next request of ours */
	LIST_ENTRY(mcp_session) link;
};

LIST_HEAD(mcp_sessions, mcp_session);

/* Say something that belongs to no request; takes the reference. */
void mcp_session_say(struct mcp_session *s, json_t *message);

/* ---- the server ---- */

struct mcp_server {
	const struct mcp_face *face;
	struct event_base *loop;
	struct mcp_workers *workers;
	struct mcp_posts *posts;
	struct mcp_sessions sessions;
	struct mcp_tasks *tasks;
	size_t busy;		    /* calls under way */
	bool ends;		    /* nobody is let off gently any more */
	LIST_HEAD(, mcp_call) interrupted; /* calls that are yet to be killed, if they go on */
	void (*on_idle)(void *userdata); /* of the transport, or NULL */
	void *on_idle_userdata;
	unsigned char seal_key[32]; /* of requestState */
};

/* ---- methods (methods.c) ---- */

enum mcp_eras { MCP_LEGACY = 1, MCP_MODERN = 2, MCP_BOTH = 3 };

struct mcp_method {
	const char *name;
	unsigned int eras;
	bool cacheable; /* modern: the result says how long it may be kept */
	void (*serve)(struct mcp_request *r);
};

const struct mcp_method *mcp_method_find(const char *name, bool modern);

json_t *mcp_server_info(const struct mcp_face *face, const struct mcp_revision *revision);

void mcp_serve_initialize(struct mcp_request *r);
void mcp_serve_discover(struct mcp_request *r);
void mcp_serve_ping(struct mcp_request *r);
void mcp_serve_set_level(struct mcp_request *r);
void mcp_serve_tools_list(struct mcp_request *r);
void mcp_serve_tools_call(struct mcp_request *r);
void mcp_serve_resources_list(struct mcp_request *r);
void mcp_serve_templates_list(struct mcp_request *r);
void mcp_serve_resources_read(struct mcp_request *r);
void mcp_serve_subscribe(struct mcp_request *r);
void mcp_serve_unsubscribe(struct mcp_request *r);
void mcp_serve_prompts_list(struct mcp_request *r);
void mcp_serve_prompts_get(struct mcp_request *r);
void mcp_serve_complete(struct mcp_request *r);
void mcp_serve_listen(struct mcp_request *r);
void mcp_serve_tasks_get(struct mcp_request *r);
void mcp_serve_tasks_result(struct mcp_request *r);
void mcp_serve_tasks_list(struct mcp_request *r);
void mcp_serve_tasks_cancel(struct mcp_request *r);
void mcp_serve_tasks_update(struct mcp_request *r);

/* ---- lists with cursors (page.c) ---- */

/* End a request with the page of the list that its cursor asks for; takes the reference. */
void mcp_request_succeed_page(struct mcp_request *r, const char *key, json_t *all);

/* ---- rows and JSON Schema (schema.c) ---- */

json_t *mcp_tool_schema(const struct mcp_tool *tool);

/*
 * The arguments with every default filled in; the caller's. NULL with a sentence that names the
 * argument.
 */
json_t *mcp_tool_arguments(const struct mcp_tool *tool, const json_t *given, char *ret_why,
			   size_t size);

/* ---- calls (call.c): what runs a row on a worker ---- */

enum mcp_call_kind { MCP_CALL_TOOL, MCP_CALL_RESOURCE, MCP_CALL_PROMPT };

struct mcp_question; /* of ours to the client, ask.c */

struct mcp_call {
	struct mcp_server *server;
	struct mcp_request *request; /* the loop's; NULL when nobody waits any more */
	struct mcp_task *task;	     /* the loop's; the task that this is, or NULL */
	bool may_be_task;	     /* the loop's, as is the timer after which it is one */
	struct event *patience;
	struct mcp_session *session; /* the loop's; older era: whom questions go to; NULL: it is gone */
	enum mcp_call_kind kind;
	union {
		const struct mcp_tool *tool;
		const struct mcp_resource *resource;
		const struct mcp_prompt *prompt;
	};
	json_t *arguments;
	char *uri, *variable;
	STAILQ_ENTRY(mcp_call) queued; /* for a worker */
	/* facts for the worker, fixed at the start */
	char client[MCP_ID_SIZE];
	bool modern, structured;
	json_t *client_caps;
	json_t *progress_token;
	_Atomic int log_rank;
	/* the worker's */
	json_t *content;	/* array */
	json_t *structured_content;
	bool is_error;
	double last_progress;
	int refusal_code, refusal_status;
	char *refusal;
	json_t *refusal_data;
	int outcome;		/* enum mcp_outcome or negative */
	struct sbx_error error;
	/* asking, ask.c */
	json_t *answers;	/* key: what the client answered in earlier rounds */
	json_t *questions;	/* key: what is asked in this round */
	json_t *state;		/* kept by the row, from the round before */
	json_t *kept;		/* for the round after */
	/* both threads' */
	struct sbx_cancel *cancel;
	atomic_bool cancelled;
	atomic_bool gently;	/* whoever stops it interrupts first */
	struct event *grace;	/* the loop's: after it the kill; it is in server->interrupted */
	LIST_ENTRY(mcp_call) interrupted;
	pthread_mutex_t lock;	/* of what follows */
	pthread_cond_t answered;
	json_t *answer;		/* to the question that waits, in the older era */
	bool has_answer;
	unsigned int question;	/* its number; 0: none */
	json_t *unsent;		/* the loop's: a question of a task that nobody could hear yet */
};

/* Run the row of the call on a worker; mcp_call_finished() is called on the loop after it. */
struct mcp_call *mcp_call_new(struct mcp_request *r, enum mcp_call_kind kind);
void mcp_call_start(struct mcp_call *call);
void mcp_call_free(struct mcp_call *call);

/* Kill what it runs and wake it where it waits. */
void mcp_call_stop(struct mcp_call *call);

/* Those that were only interrupted have no more time. */
void mcp_calls_kill_interrupted(struct mcp_server *server);

/* What came of it as a result, or NULL: it refused. On the loop, once. */
json_t *mcp_call_result(struct mcp_call *call);

void mcp_call_run(struct mcp_call *call);	/* on a worker */
void mcp_call_finished(struct mcp_call *call);	/* on the loop */

/* ---- asking the client (ask.c) ---- */

/*
 * Take inputResponses and requestState of a retry into the call, whose row and arguments are set;
 * false: the request has failed and the call is freed.
 */
bool mcp_ask_resume(struct mcp_request *r, struct mcp_call *call);
bool mcp_ask_is_retry(const struct mcp_request *r);

/* The result that asks. */
json_t *mcp_ask_result(struct mcp_call *call);

/* Add what the client answered to the answers, without what is no answer to its question. */
void mcp_ask_take_answers(json_t *answers, const json_t *questions, const json_t *given);

/* The client answered a question of ours (a response came in). */
void mcp_ask_answered(struct mcp_session *session, const json_t *response);

/* Whether the call waits for the answer with this number. */
bool mcp_call_asks(struct mcp_call *call, unsigned int number);

/* ---- seals (seal.c) ---- */

/* A text that only this server can have made from the value; the caller frees it. */
char *mcp_seal(const struct mcp_server *server, const json_t *value);

/* The value, or NULL: it was not made here, or has been changed. */
json_t *mcp_unseal(const struct mcp_server *server, const char *text);

/* ---- tasks (task.c) ---- */

struct mcp_tasks *mcp_tasks_new(struct mcp_server *server);
void mcp_tasks_free(struct mcp_tasks *tasks);

/* Cancel all that run. */
void mcp_tasks_stop(struct mcp_tasks *tasks);

/* Whether this call of a tool is to be a task, or cannot be served without (it has failed). */
enum mcp_task_choice {
	MCP_NO_TASK,
	MCP_MAYBE_TASK, /* if it takes long, or needs input */
	MCP_AS_TASK,
	MCP_TASK_FAILED,
};
enum mcp_task_choice mcp_task_choose(struct mcp_request *r, const struct mcp_tool *tool);

/* Make the call a task, start it, and answer the request with the task. */
void mcp_task_start(struct mcp_request *r, struct mcp_call *call);

/* Start the call, which becomes a task when it takes longer than a moment … */
void mcp_task_offer(struct mcp_call *call);

/* … or now, if it may; false: it stays as it is. */
bool mcp_task_promote(struct mcp_call *call);

/* The call of a task has ended, or needs input; the task keeps the call. */
void mcp_task_turn(struct mcp_call *call);

/* All tasks of this session end with it. */
void mcp_tasks_forget_session(struct mcp_tasks *tasks, const struct mcp_session *session);

/* The call of a task of this session that waits for the answer with this number, or NULL. */
struct mcp_call *mcp_task_find_asker(const struct mcp_session *session, unsigned int number);

/* Older era: what the call of the task asks, to whom waits for its result; takes the reference. */
void mcp_task_say(struct mcp_task *task, json_t *message);

void mcp_tasks_give_up(const struct mcp_session *session, void (*give_up)(struct mcp_call *call));

/* Older era: the call of the task, if it is one, waits for an answer, or has it. */
void mcp_task_asks(struct mcp_task *task, bool asks);

/* ---- batches (batch.c) ---- */

/* Act on the messages of an array, and finish the stream with the array of their answers. */
void mcp_batch_receive(struct mcp_session *s, const json_t *messages, struct mcp_stream *out);

/* The stream of the batch is gone; what is under way goes on, or is cancelled. */
void mcp_batch_gone(struct mcp_batch *batch, struct mcp_stream *later, bool cancel);

/* Act on one message that is no batch. */
void mcp_message_receive(struct mcp_session *s, const json_t *message, struct mcp_stream *stream);

/* Answer a message without a request. */
void mcp_refuse(struct mcp_stream *stream, const json_t *id, int code, int status,
		const char *message, json_t *data);

/* ---- subscriptions (listen.c) ---- */

/* The client, or the end of the server, ends a subscription. */
void mcp_listen_end(struct mcp_request *r);

void mcp_listeners_tell(struct mcp_server *server, const char *method, const char *filter,
			const char *uri, json_t *params);

/* ---- workers and posts ---- */

struct mcp_workers *mcp_workers_new(struct mcp_server *server, unsigned int count);
void mcp_workers_free(struct mcp_workers *workers); /* waits for what runs */
void mcp_workers_add(struct mcp_workers *workers, struct mcp_call *call);

/* Run function(a, b) on the loop, in order. Any thread. */
typedef void mcp_post_fn(void *a, void *b);
struct mcp_posts *mcp_posts_new(struct event_base *loop);
void mcp_posts_free(struct mcp_posts *posts);
void mcp_post(struct mcp_posts *posts, mcp_post_fn *function, void *a, void *b);

/* ---- messages (message.c) ---- */

json_t *mcp_notification(const char *method, json_t *params); /* takes params */
json_t *mcp_response(const json_t *id, json_t *result);	      /* takes result */

/* Text of any origin as a JSON string: what is no UTF-8 becomes U+FFFD. */
json_t *mcp_text(const char *text, size_t len);

/* params._meta.key, or NULL. */
json_t *mcp_meta(const json_t *params, const char *key);

/* The string at key when it is one, without NUL characters; else NULL. */
const char *mcp_get_string(const json_t *object, const char *key);
