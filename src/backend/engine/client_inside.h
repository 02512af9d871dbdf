/* SPDX-License-Identifier: MIT */
/* The inside of a client, for client.c and stream.c alone. */
#pragma once

#include "backend/engine/client.h"
#include "backend/engine/curl.h"
#include "backend/engine/endpoint.h"

struct engine_client {
	const struct engine_flavor *flavor;
	const struct engine_curl *curl;
	struct engine_endpoint endpoint;
	CURL *easy;
	char version[16];    /* "1.41"; "" until it is negotiated */
	unsigned int status; /* of the last call */
};

/* Set what every connection to the engine needs. */
void engine_client_prepare(const struct engine_client *client, CURL *easy);

/* "the Docker engine at unix:///run/docker.sock": for messages. */
const char *engine_client_title(const struct engine_client *client, char ret[256]);
