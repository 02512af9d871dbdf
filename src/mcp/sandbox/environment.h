/* SPDX-License-Identifier: MIT */
/*
 * The environment variables of the server: those that people set for the original's, and what
 * they mean here, and our own. One that asks for something that is always so is accepted, one
 * that asks for something that this backend cannot give is an error that says why: a server that
 * starts does as told.
 */
#pragma once

#include <llmsandbox/container.h>
#include <llmsandbox/network.h>
#include <llmsandbox/spec.h>

#include <jansson.h>

/* Offline, what was installed before is there, and nothing else is installed. */
enum mcp_install_mode { MCP_INSTALL_ON, MCP_INSTALL_OFF, MCP_INSTALL_OFFLINE };

/*
 * What an answer shows of artifacts, in bytes before they are written in base64. A well-known
 * desktop client refuses an answer of more than 1 MiB, so that all of it, with the output said
 * twice, stays below.
 */
#define MCP_IMAGE_BYTES	 (512 << 10)
#define MCP_EMBED_BYTES	 (32 << 10)
#define MCP_ANSWER_BYTES (640 << 10)
#define MCP_ANSWER_MOST	 (64 << 20)

struct mcp_environment {
	char backend[32];
	/* Of container engines: */
	char image[256]; /* "": the language's own; SANDBOX_IMAGE */
	char micromamba[64]; /* environment of it, or ""; SANDBOX_ENVIRONMENT */
	enum sbx_pull pull;  /* SANDBOX_PULL */
	bool commit;	     /* COMMIT_CONTAINER */
	bool keep_template;  /* KEEP_TEMPLATE, true unless it says otherwise */
	json_t *runtime; /* runtime_configs out of SANDBOX_RUNTIME_CONFIGS and the original's; owned, or NULL */
	sbx_engine_line_fn *on_engine_line; /* told what an engine pulls and commits; or NULL */
	uint64_t memory_bytes; /* 0: nobody said; SANDBOX_MEM_LIMIT, SANDBOX_MEMORY */
	uint64_t cpu_milli;    /* 0: nobody said; SANDBOX_CPU_COUNT, SANDBOX_CPUS */
	const struct sbx_spec *limits; /* whose limits are the defaults; borrowed, or NULL */
	/* Of sessions; 0: nobody said. */
	size_t sessions;      /* at one time; SANDBOX_SESSIONS */
	uint64_t idle_ms;     /* SANDBOX_SESSION_IDLE, in seconds */
	uint64_t lifetime_ms; /* SANDBOX_SESSION_LIFETIME, in seconds */
	enum mcp_install_mode install; /* SANDBOX_INSTALL: on, off, offline */
	bool artifacts;	 /* SANDBOX_ARTIFACTS: runs collect what they show and make */
	bool structured; /* SANDBOX_STRUCTURED: answers have structured content too */
	size_t image_bytes;  /* of one image in an answer; SANDBOX_IMAGE_BYTES */
	size_t embed_bytes;  /* of one embedded resource; SANDBOX_EMBED_BYTES */
	size_t answer_bytes; /* of all of them in one answer; SANDBOX_ANSWER_BYTES */
	/* The most that a call may ask for: SANDBOX_NETWORK, SANDBOX_ALLOW; owned. NULL: none. */
	struct sbx_network *network;
};

/* variables: "NAME=value", NULL-terminated, as environ(7) is. Free with mcp_environment_done(). */
int mcp_environment_read(const char *const *variables, struct mcp_environment *ret,
			 struct sbx_error *err);

/*
 * Take what a spec says otherwise than the library does as the default, for what the variables
 * leave open: of memory and CPUs it is the most that a call may ask for too. The time of a run is
 * for the call to say. Borrowed.
 */
void mcp_environment_set_limits(struct mcp_environment *environment, const struct sbx_spec *limits);

/* This, and not what the variables said, is the most that a call may reach; it is copied. */
int mcp_environment_set_network(struct mcp_environment *environment,
				const struct sbx_network *network, struct sbx_error *err);

void mcp_environment_done(struct mcp_environment *environment);

/* A new spec with what the environment says. */
int mcp_environment_make_spec(const struct mcp_environment *environment, struct sbx_spec **ret,
			      struct sbx_error *err);
