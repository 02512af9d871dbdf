/* SPDX-License-Identifier: MIT */
/*
 * The inside of struct sbx_spec, for backends and core; users see llmsandbox/spec.h. It stands
 * here because a backend may not look up into core, and every spec is made for some backend.
 */
#pragma once

#include <llmsandbox/container.h>
#include <llmsandbox/spec.h>

struct sbx_embedded_file;
struct sbx_network;
struct json_t;

struct sbx_mount {
	char *host;   /* resolved and absolute, owned */
	char *inside; /* absolute and clean, owned */
	bool writable;
	bool as_is; /* of the library itself: owners need not be shown as the sandbox's user */
};

#define SBX_MOUNTS_MAX	 48
#define SBX_ENV_MAX	 1024

/* What only container engines have; each text is owned, or NULL. */
struct sbx_container {
	char *image;	  /* NULL: the first of these two that the engine has or gets … */
	char *choices[2]; /* … which core names for a session, by its language */
	char *dockerfile; /* absolute */
	char *context;	  /* absolute; NULL: the folder that the dockerfile is in */
	char *tag;	  /* of what is built */
	char *id;	  /* of a container that is there already */
	char *commit_tag;
	char *environment;	  /* of micromamba */
	char *user;		  /* a name in the image's /etc/passwd, in place of uid and gid */
	struct json_t *runtime;	  /* runtime_configs without what the spec itself has; or NULL */
	unsigned int unlimited;	  /* bits 1 << enum sbx_limit: no limit of the container's own */
	enum sbx_pull pull;
	bool keep_template, commit;
	const char *sets; /* the volume of library sets to show, or NULL: the backend finds out */
	bool was_committed; /* the image is one of a commit: the backend finds out */
	sbx_engine_line_fn *on_progress; /* or NULL */
	void *userdata;
	bool (*is_given_up)(const void *cancel); /* opening is to end; or NULL */
	const void *cancel;
};

struct sbx_spec {
	const struct sbx_backend *backend;
	uint64_t limits[SBX_LIMIT_COUNT];
	char **env; /* owned strings "NAME=value"; env_count of them, then NULL */
	size_t env_count;
	struct sbx_mount mounts[SBX_MOUNTS_MAX];
	size_t mount_count;
	uint32_t uid, gid;
	char *workdir; /* owned */
	struct sbx_container container;
	const char *root; /* of core's copy: the folder of an image that is the sandbox's own root, or NULL */
	const struct sbx_embedded_file *embedded; /* what artifacts and kernels need inside: for a … */
	const char *embedded_version;		  /* … place that keeps it at hand; never NULL */
	bool no_libraries;	     /* the store of library sets need not be shown */
	bool sets_writable;	     /* where the backend keeps sets itself: to write some, or to remove them */
	bool use_support;	     /* what artifacts and kernels need inside is shown from the start */
	struct sbx_network *network; /* owned; NULL: none */
	const char *language; /* the id of the one that will be run, "none", or NULL: any */
};
