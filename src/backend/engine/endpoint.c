/* SPDX-License-Identifier: MIT */
#include "backend/engine/endpoint.h"

#include "backend/engine/flavor.h"
#include "base/auto.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UNIX_SCHEME "unix://"
#define TCP_SCHEME  "tcp://"

static int no_memory(struct sbx_error *err)
{
	return sbx_fail_errno(err, ENOMEM, "cannot name the engine");
}

static int use_socket(struct engine_endpoint *e, const char *path, struct sbx_error *err)
{
	e->socket_path = strdup(path);
	e->url = strdup("http://engine");
	if (asprintf(&e->name, UNIX_SCHEME "%s", path) < 0)
		e->name = NULL;
	return e->socket_path == NULL || e->url == NULL || e->name == NULL ? no_memory(err) : 0;
}

/* ---- TCP and TLS ---- */

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL && value[0] != '\0';
}

static int name_files(struct engine_endpoint *e, struct sbx_error *err)
{
	const char *folder = getenv("DOCKER_CERT_PATH"), *home = getenv("HOME");
	auto_free char *standard = NULL;

	if (folder == NULL || folder[0] == '\0') {
		if (home == NULL || asprintf(&standard, "%s/.docker", home) < 0)
			return sbx_fail(err, SBX_E_INVALID,
					"there is no folder with certificates for '%s'; set DOCKER_CERT_PATH",
					e->name);
		folder = standard;
	}
	if (asprintf(&e->ca, "%s/ca.pem", folder) < 0 || asprintf(&e->cert, "%s/cert.pem", folder) < 0 ||
	    asprintf(&e->key, "%s/key.pem", folder) < 0)
		return no_memory(err);
	return 0;
}

static int use_tcp(struct engine_endpoint *e, const char *host, struct sbx_error *err)
{
	bool tls = is_set("DOCKER_TLS_VERIFY") || is_set("DOCKER_CERT_PATH");

	e->name = strdup(host);
	if (asprintf(&e->url, "%s://%s", tls ? "https" : "http", host + strlen(TCP_SCHEME)) < 0)
		e->url = NULL;
	if (e->name == NULL || e->url == NULL)
		return no_memory(err);
	e->verify = is_set("DOCKER_TLS_VERIFY");
	return tls ? name_files(e, err) : 0;
}

static int use_host(struct engine_endpoint *e, const struct engine_flavor *flavor, const char *host,
		    struct sbx_error *err)
{
	if (strncmp(host, UNIX_SCHEME, strlen(UNIX_SCHEME)) == 0)
		return use_socket(e, host + strlen(UNIX_SCHEME), err);
	if (strncmp(host, TCP_SCHEME, strlen(TCP_SCHEME)) == 0)
		return use_tcp(e, host, err);
	return sbx_fail(err, SBX_E_INVALID, "%s is '%.128s', and has to begin with unix:// or tcp://",
			flavor->host_variable, host);
}

/* ---- the usual places ---- */

/* A place with its variable put in; false where that is not set. */
static bool expand(const char *place, char ret[PATH_MAX])
{
	static const char variable[] = "$XDG_RUNTIME_DIR";
	const char *folder = getenv("XDG_RUNTIME_DIR");
	size_t len = sizeof(variable) - 1;

	if (strncmp(place, variable, len) != 0)
		return snprintf(ret, PATH_MAX, "%s", place) < PATH_MAX;
	return folder != NULL && folder[0] == '/' &&
	       snprintf(ret, PATH_MAX, "%s%s", folder, place + len) < PATH_MAX;
}

/* The first that is there; where none is, the one to name. */
static int use_usual_place(struct engine_endpoint *e, const struct engine_flavor *flavor,
			   struct sbx_error *err)
{
	char path[PATH_MAX];

	for (size_t i = 0; flavor->sockets[i] != NULL; i++) {
		if (expand(flavor->sockets[i], path) && access(path, F_OK) == 0)
			return use_socket(e, path, err);
	}
	return sbx_fail(err, SBX_E_UNAVAILABLE, "there is no %s engine on this machine; %s",
			flavor->title, flavor->start_hint);
}

int engine_endpoint_find(const struct engine_flavor *flavor, struct engine_endpoint *ret,
			 struct sbx_error *err)
{
	const char *host = getenv(flavor->host_variable);

	*ret = (struct engine_endpoint){.verify = true};
	return host != NULL && host[0] != '\0' ? use_host(ret, flavor, host, err)
					       : use_usual_place(ret, flavor, err);
}

void engine_endpoint_done(struct engine_endpoint *e)
{
	free(e->name);
	free(e->socket_path);
	free(e->url);
	free(e->ca);
	free(e->cert);
	free(e->key);
}
