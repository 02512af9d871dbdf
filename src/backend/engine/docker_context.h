/* SPDX-License-Identifier: MIT */
/*
 * Docker contexts: named endpoints that the docker program keeps below ~/.docker (or $DOCKER_CONFIG).
 *
 * The one in use is DOCKER_CONTEXT's, or "currentContext" of config.json. What it says is in
 * contexts/meta/DIGEST/meta.json, its files for TLS in contexts/tls/DIGEST/docker; DIGEST is the
 * SHA-256 of its name.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct engine_docker_context {
	char *name;	   /* NULL: none is in use; owned, as all */
	char *host;	   /* "tcp://host:2376" */
	char *tls;	   /* the folder of its files, or NULL when it has none */
	bool skip_verify;  /* of the server's certificate */
	bool from_variable; /* DOCKER_CONTEXT named it */
};

int engine_docker_context_find(struct engine_docker_context *ret, struct sbx_error *err);
void engine_docker_context_done(struct engine_docker_context *context);

/* The docker program's folder, or NULL when there is no home; the caller's. */
char *engine_docker_context_folder(void);
