/* SPDX-License-Identifier: MIT */
/*
 * For those who make an MCP server of tools, resources and prompts: each is a row, and what a
 * client sees of it (lists, JSON Schema, validation) comes from the row.
 *
 *	struct mcp_server *server;
 *
 *	mcp_server_new(&face, &server, &err);
 *	mcp_serve_stdio(server, &err);		or mcp_serve_http(server, &options, &err);
 *	mcp_server_free(server);
 *
 * The functions of rows run on worker threads and may block; what they are given is a struct
 * mcp_call. All else runs on the one thread that serves. Both eras of the protocol meet the
 * same rows: those of `initialize` (2024-11-05 to 2025-11-25) and that of `server/discover`
 * (2026-07-28).
 */
#pragma once

#include <llmsandbox/error.h>
#include <llmsandbox/session.h>

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>

struct mcp_server;
struct mcp_call;

/* ---- rows ---- */

enum mcp_type {
	MCP_STRING,
	MCP_INTEGER,
	MCP_NUMBER,
	MCP_BOOLEAN,
	MCP_STRINGS,	/* array of strings */
	MCP_STRING_MAP, /* object whose values are strings */
};

struct mcp_argument {
	const char *name;
	const char *description;
	enum mcp_type type;
	bool required;
	bool nullable;
	const char *fallback;	      /* the default as JSON text, or NULL: none */
	double min, max;	      /* of numbers, and of the length of strings; both 0: any */
	const char *const *choices;   /* of strings, NULL-terminated, or NULL: any */
	const char *header;	      /* the X of the header Mcp-Param-X that mirrors it, or NULL */
};

enum mcp_hint {
	MCP_READ_ONLY = 1 << 0,
	MCP_DESTRUCTIVE = 1 << 1,
	MCP_IDEMPOTENT = 1 << 2,
	MCP_OPEN_WORLD = 1 << 3,
};

enum mcp_task_support { MCP_TASK_FORBIDDEN, MCP_TASK_OPTIONAL, MCP_TASK_REQUIRED };

struct mcp_icon {
	const char *src, *mime_type, *sizes;
};

/* What a function of a row returns; negative: err has the sentence for the client. */
enum mcp_outcome {
	MCP_DONE = 0,
	MCP_NEEDS_INPUT = 1, /* mcp_call_ask() said so: return it */
};

/* What a call does where all threads are taken by calls that run. */
enum mcp_urgency {
	MCP_PATIENT, /* it waits until one of them is free */
	MCP_URGENT,  /* it acts on calls that run, and then may wait for one */
	MCP_INSTANT, /* it acts on calls that run, and waits for nothing */
	MCP_URGENCY_COUNT
};

struct mcp_tool {
	const char *name, *title, *description;
	const struct mcp_argument *arguments; /* argument_count of them */
	size_t argument_count;
	const char *input_schema;  /* JSON text instead of arguments: nothing is validated; or NULL */
	const char *output_schema; /* JSON text, or NULL */
	const char *meta;	   /* JSON text of _meta, or NULL */
	unsigned int hints;	   /* enum mcp_hint */
	enum mcp_task_support task;
	enum mcp_urgency (*urgency)(const json_t *arguments); /* of a call; NULL: patient */
	bool task_after_input; /* it asks first, and is a task from the answer on */
	/*
	 * arguments: an object in which every default is filled in. What is added to the call is
	 * the result. An error becomes a result with isError and the sentence.
	 */
	int (*run)(struct mcp_call *call, const json_t *arguments, struct sbx_error *err);
};

/* A resource, or with a {name} in its URI a template, which may have more than one. */
struct mcp_resource {
	const char *uri, *name, *title, *description, *mime_type;
	bool deep; /* the last {name} may stand for more than one segment of a path */
	/*
	 * Add contents with mcp_call_add_contents(). uri is what the client asked for; variable
	 * is what stood for the last {name}, as it stood there, or NULL. SBX_E_NOT_FOUND: there is
	 * no such resource.
	 */
	int (*read)(struct mcp_call *call, const char *uri, const char *variable,
		    struct sbx_error *err);
	/* Append strings that complete prefix for the variable to values; or NULL. */
	void (*complete)(const char *variable, const char *prefix, json_t *values);
};

struct mcp_prompt_argument {
	const char *name, *description;
	bool required;
};

struct mcp_prompt {
	const char *name, *title, *description;
	const struct mcp_prompt_argument *arguments; /* argument_count of them */
	size_t argument_count;
	/* Add messages with mcp_call_add_message(). arguments: an object of strings. */
	int (*get)(struct mcp_call *call, const json_t *arguments, struct sbx_error *err);
	void (*complete)(const char *argument, const char *prefix, json_t *values); /* or NULL */
};

/* All that a server is. The arrays end with a row without a name; they outlive the server. */
struct mcp_face {
	const char *name, *title, *version, *description, *website, *instructions;
	const struct mcp_icon *icons; /* ends with one without src; or NULL */
	const struct mcp_tool *tools;
	const struct mcp_resource *resources;
	const struct mcp_prompt *prompts;
	unsigned int workers; /* calls that run at once; more wait. 0: 8 */
	void *userdata;
	/*
	 * A client that mcp_call_client() has named is gone, and its calls are cancelled. On the
	 * thread that serves: must not block. NULL: nobody wants to know.
	 */
	void (*client_gone)(void *userdata, const char *client);
};

int mcp_server_new(const struct mcp_face *face, struct mcp_server **ret, struct sbx_error *err);
void mcp_server_free(struct mcp_server *server);

/* ---- what a row's function may do with its call ---- */

void *mcp_call_userdata(const struct mcp_call *call);

/*
 * Who calls: a name that no other client has and nobody guesses. NULL when that cannot be known:
 * over HTTP a request of the newer era stands for itself.
 */
const char *mcp_call_client(const struct mcp_call *call);

/* For blocking sbx_* calls: killed when the client cancels, or goes away, or we shut down. */
struct sbx_cancel *mcp_call_cancel(const struct mcp_call *call);
bool mcp_call_is_cancelled(const struct mcp_call *call);

/*
 * While it is so, who cancels interrupts first, as Ctrl-C does, and the handle is killed only if
 * the call goes on for some seconds more: for what keeps something that a kill would take along.
 */
void mcp_call_cancel_gently(struct mcp_call *call, bool gently);

/* Content of a tool's result, in this order. Text is made valid UTF-8. */
void mcp_call_add_text(struct mcp_call *call, const char *text, size_t len);
void mcp_call_add_image(struct mcp_call *call, const char *mime_type, const void *data, size_t len);
void mcp_call_add_item(struct mcp_call *call, json_t *item); /* takes the reference */

/* A resource in the answer itself, as text or (mime_type of no text) as a blob. */
void mcp_call_add_embedded(struct mcp_call *call, const char *uri, const char *mime_type,
			   const void *data, size_t len);

/* Whether the client's revision has content of type "resource_link". */
bool mcp_call_has_links(const struct mcp_call *call);

/* structuredContent; takes the reference. */
void mcp_call_set_structured(struct mcp_call *call, json_t *value);

/* Mark the result as an error of ours, with the content that is there. */
void mcp_call_set_error(struct mcp_call *call);

/* Contents of a resource, as text or (mime_type of no text) as a blob. */
void mcp_call_add_contents(struct mcp_call *call, const char *uri, const char *mime_type,
			   const void *data, size_t len);

/* A message of a prompt; role "user" or "assistant"; takes the reference of content. */
void mcp_call_add_message(struct mcp_call *call, const char *role, json_t *content);

/* End the call with this error of JSON-RPC whatever the function returns; takes data. */
void mcp_call_refuse(struct mcp_call *call, int code, const char *message, json_t *data);

/* To the client, if it asked for progress. total 0: unknown; message may be NULL. */
void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *message);
bool mcp_call_wants_progress(const struct mcp_call *call);

/* level: "debug" … "emergency"; to the client if it asked for this level. Takes data. */
void mcp_call_log(struct mcp_call *call, const char *level, const char *logger, json_t *data);
bool mcp_call_wants_log(const struct mcp_call *call, const char *level);

/* Whether the client can do this: "sampling", "elicitation", "roots". */
bool mcp_call_client_can(const struct mcp_call *call, const char *capability);

/*
 * Ask the client: method "elicitation/create", "sampling/createMessage" or "roots/list"; takes
 * params. MCP_DONE with *ret (the caller's) when the answer is there, which in the older era
 * blocks; MCP_NEEDS_INPUT when the client must come back with it: after all questions have been
 * asked return that; the function is then run again from its start. key names the question.
 * Negative: the client cannot, or refused.
 */
int mcp_call_ask(struct mcp_call *call, const char *key, const char *method, json_t *params,
		 json_t **ret, struct sbx_error *err);

/* What the function kept in an earlier round of the same call, or NULL; borrowed. */
const json_t *mcp_call_state(const struct mcp_call *call);
void mcp_call_keep_state(struct mcp_call *call, json_t *state); /* takes the reference */

/* ---- what changes while the server runs; from any thread ---- */

enum mcp_list { MCP_TOOLS, MCP_RESOURCES, MCP_PROMPTS };

void mcp_server_list_changed(struct mcp_server *server, enum mcp_list list);
void mcp_server_resource_updated(struct mcp_server *server, const char *uri);
struct mcp_server *mcp_call_server(const struct mcp_call *call);

/* ---- serving ---- */

/* Serve stdin and stdout until stdin ends. SIGTERM and SIGINT end it too. */
int mcp_serve_stdio(struct mcp_server *server, struct sbx_error *err);

struct mcp_http_options {
	const char *address;	 /* "127.0.0.1:8080", "[::1]:8080", "8080", "unix:/run/x.sock" */
	const char *path;	 /* of the endpoint; NULL: "/mcp" */
	const char *token;	 /* bearer token that every request must have, or NULL: none */
	const char *tls_cert_file, *tls_key_file; /* PEM; both or none */
	const char *const *origins; /* allowed besides loopback, NULL-terminated; or NULL */
	const char *const *hosts;   /* allowed Host names besides loopback; or NULL */
	size_t body_max;	 /* bytes of a request; 0: 16 MiB */
	unsigned int connections_max; /* 0: 1024 */
	unsigned int drain_ms;	 /* what running calls get at SIGTERM; 0: 10000 */
	void (*on_listen)(const char *url, void *userdata); /* or NULL */
	void *userdata;
};

int mcp_serve_http(struct mcp_server *server, const struct mcp_http_options *options,
		   struct sbx_error *err);
