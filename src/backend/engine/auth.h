/* SPDX-License-Identifier: MIT */
/*
 * Who we are to the registry of an image, as `docker login` left it: config.json of $DOCKER_CONFIG or
 * ~/.docker, its "auths", and the credential helpers that it names, which are programs of their own. Of an
 * image that names no registry the engine says which it is of, and is believed no further than that it is
 * the standard one: another one's log-in is not its to have.
 */
#pragma once

#include "backend/engine/client.h"

/* The value of X-Registry-Auth, the caller's; NULL when nobody has logged in there. */
int engine_auth_find(struct engine_client *client, const char *image, char **ret,
		     struct sbx_error *err);

