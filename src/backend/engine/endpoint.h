/* SPDX-License-Identifier: MIT */
/*
 * Where an engine listens: found in the environment as the engine's own command line finds it.
 *
 *	Docker:  DOCKER_HOST, the context in use, unix:///var/run/docker.sock
 *	Podman:  CONTAINER_HOST, $XDG_RUNTIME_DIR/podman/podman.sock, /run/podman/podman.sock
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct engine_flavor;

struct engine_endpoint {
	char *name;	   /* as messages call it: "unix:///run/docker.sock"; owned */
	char *socket_path; /* of a Unix socket, or NULL; owned */
	char *url;	   /* what requests begin with: "http://engine", "https://host:2376"; owned */
	char *ca, *cert, *key; /* files for TLS, or NULL; owned */
	bool verify;	   /* the server's certificate */
};

int engine_endpoint_find(const struct engine_flavor *flavor, struct engine_endpoint *ret,
			 struct sbx_error *err);
void engine_endpoint_done(struct engine_endpoint *endpoint);
