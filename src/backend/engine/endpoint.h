/* SPDX-License-Identifier: MIT */
/*
 * Where an engine listens: found in the environment as the engine's own command line finds it.
 *
 *	Docker:  DOCKER_HOST (with DOCKER_TLS_VERIFY, DOCKER_TLS, DOCKER_CERT_PATH), the context in
 *		 use, /var/run/docker.sock, that of a user's own engine
 *	Podman:  CONTAINER_HOST (with CONTAINER_SSHKEY), a user's own engine, /run/podman/podman.sock
 *
 * A host is unix:///path, tcp://host:port, http://…, https://… or ssh://user@host:port.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct engine_flavor;

struct engine_endpoint {
	char *name;	   /* as messages call it: "unix:///run/docker.sock"; owned, as all */
	char *source;	   /* who named it: "DOCKER_HOST", "the Docker context 'x'", "the usual place" */
	char *socket_path; /* of a Unix socket, or NULL */
	char *url;	   /* what requests begin with: "http://engine", "https://host:2376" */
	char *ca, *cert, *key; /* files for TLS, or NULL */
	char **command;	   /* a program whose stdin and stdout are the connection, or NULL */
	bool verify;	   /* the server's certificate */
};

int engine_endpoint_find(const struct engine_flavor *flavor, struct engine_endpoint *ret,
			 struct sbx_error *err);
int engine_endpoint_copy(const struct engine_endpoint *endpoint, struct engine_endpoint *ret,
			 struct sbx_error *err);
void engine_endpoint_done(struct engine_endpoint *endpoint);

/* Whether nobody on the way can read what is said: it is encrypted, or does not leave this machine. */
bool engine_endpoint_is_private(const struct engine_endpoint *endpoint);
