/* SPDX-License-Identifier: MIT */
/*
 * What the configuration and the flags of one call add up to. Options write into it in order
 * of precedence, later wins; settings_finish() hands what depends on everything else to the
 * spec.
 */
#pragma once

#include <llmsandbox/network.h>
#include <llmsandbox/spec.h>

#include <jansson.h>

#define SETTINGS_IDLE_MS	3600000 /* of a session */
#define SETTINGS_HOLDER_IDLE_MS 60000

struct mount_wish {
	char *host, *inside;
	bool writable;
	char *where; /* what asked for it: "--mount", "config.yaml:3: mounts" */
};

/* A host that may be reached. */
struct rule_wish {
	char *rule;
	bool may_be_private;
	char *where;
};

struct settings {
	struct sbx_spec *spec; /* NULL for commands without a sandbox */
	bool json, stream, dry_run, raw, help, options, version, all, longer, deep,
		background, waits, offline, show, keep_template, skip_setup;
	bool any_backend; /* auto: chosen when all else is known */
	char *language, *code, *config, *workdir, *session, *kernel, *artifacts,
		*dockerfile, *context, *tag;
	char *image_backend; /* of commands about images; a sandbox's is the spec's */
	uint64_t idle_ms, holder_idle_ms; /* 0: the standard above */
	json_t *wishes; /* an array: note what makes the sandbox, see wishes.h; or NULL */
	struct mount_wish *mounts;
	size_t mount_count;
	char **libraries; /* that the code needs; NULL-terminated, or NULL */
	bool network_given; /* else allow where there are rules, and none without */
	enum sbx_network_mode network;
	struct rule_wish *rules;
	size_t rule_count;
	struct sbx_network_limits network_limits;
	/* of the MCP server: */
	char *http, *path, *token_file, *tls_cert, *tls_key;
	char **origins, **hosts; /* NULL-terminated, or NULL */
	unsigned long workers;	 /* 0: as the server likes */
};

int settings_init(struct settings *s, struct sbx_error *err);

/* "NAME=value", or "NAME" to take it from our own environment. */
int settings_add_env(struct settings *s, const char *value, const char *where,
		     struct sbx_error *err);

/* The same as "NAME=value", which the caller frees. */
int settings_assignment(const char *value, const char *where, char **ret, struct sbx_error *err);

/* "host:inside", ":ro" or ":rw" behind it; replaces an earlier one at the same place. */
int settings_add_mount(struct settings *s, const char *value, const char *where,
		       struct sbx_error *err);

/* "UID" or "UID:GID". */
int settings_set_user(struct settings *s, const char *value, const char *where,
		      struct sbx_error *err);

int settings_set_backend(struct settings *s, const char *value, const char *where,
			 struct sbx_error *err);

int settings_set_image(struct settings *s, const char *value, const char *where,
		       struct sbx_error *err);

/* Add one to the lists of the MCP server. */
int settings_add_origin(struct settings *s, const char *value, const char *where,
			struct sbx_error *err);
int settings_add_host(struct settings *s, const char *value, const char *where,
		      struct sbx_error *err);

/* A library, as its package manager writes it. */
int settings_add_library(struct settings *s, const char *value, const char *where,
			 struct sbx_error *err);

/* Space for all sets of libraries; the library reads it from our environment. */
int settings_set_library_cache(struct settings *s, const char *value, const char *where,
			       struct sbx_error *err);

/* A number from 1 to 256. */
int settings_set_workers(struct settings *s, const char *value, const char *where,
			 struct sbx_error *err);

/* "none", "allow", "packages" or "open". */
int settings_set_network(struct settings *s, const char *value, const char *where,
			 struct sbx_error *err);

/* A rule of sbx_network_allow(). */
int settings_add_allow(struct settings *s, const char *value, const char *where,
		       struct sbx_error *err);
int settings_add_allow_private(struct settings *s, const char *value, const char *where,
			       struct sbx_error *err);

/* Limits of the network. */
int settings_set_network_bytes(struct settings *s, const char *value, const char *where,
			       struct sbx_error *err);
int settings_set_network_rate(struct settings *s, const char *value, const char *where,
			      struct sbx_error *err);
int settings_set_connections(struct settings *s, const char *value, const char *where,
			     struct sbx_error *err);

/* How long a session, and the holder without any, may be idle. */
int settings_set_idle(struct settings *s, const char *value, const char *where,
		      struct sbx_error *err);
int settings_set_holder_idle(struct settings *s, const char *value, const char *where,
			     struct sbx_error *err);

/* What the network's options add up to; the caller's. NULL when none of them is given. */
int settings_make_network(const struct settings *s, struct sbx_network **ret,
			  struct sbx_error *err);

/* Mounts, the work folder, which may be in one of them, and the network. */
int settings_finish(struct settings *s, struct sbx_error *err);

void settings_done(struct settings *s);
