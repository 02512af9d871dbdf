/* SPDX-License-Identifier: MIT */
#include "backend/engine/endpoint.h"

#include "backend/engine/docker_context.h"
#include "backend/engine/flavor.h"
#include "backend/engine/ssh.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/strv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

#define URL_CHARS                                                                        \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"                 \
	"._-:[]%/~+"

#define SOCKET_NAME_MAX 200 /* a longer name is no use in a message, and is not kept whole */

/* What is known beside the host. */
struct search {
	const struct engine_flavor *flavor;
	const char *host;  /* "tcp://h:2376" */
	const char *shown; /* the same for messages, which no password reaches */
	const char *files; /* the folder of certificates, or NULL */
	bool tls, verify;
	bool must_have_files;
};

static int no_memory(struct sbx_error *err)
{
	return sbx_fail_errno(err, ENOMEM, "cannot name the engine");
}

static const char *variable(const char *name)
{
	const char *value = name != NULL ? getenv(name) : NULL;

	return value != NULL && value[0] != '\0' ? value : NULL;
}

/* ---- sockets ---- */

/* As what is kept of an engine is known by: /var/run is a link to /run, and both are one socket. */
static char *name_socket(const char *path)
{
	auto_free char *resolved = realpath(path, NULL);
	char *name = NULL;

	if (resolved == NULL || strlen(resolved) > SOCKET_NAME_MAX)
		return asprintf(&name, "unix://%s", path) < 0 ? NULL : name;
	return asprintf(&name, "unix://%s", resolved) < 0 ? NULL : name;
}

static int use_socket(struct engine_endpoint *e, const char *path, struct sbx_error *err)
{
	if (path[0] != '/')
		return sbx_fail(err, SBX_E_INVALID,
				"%s is 'unix://%.128s', and a socket's path begins with a slash: "
				"unix:///run/docker.sock",
				e->source, path);
	if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return sbx_fail(err, SBX_E_INVALID,
				"%s names the socket '%.200s', whose path is longer than the %zu bytes that "
				"a socket's can have; make a link to it",
				e->source, path, sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
	e->socket_path = strdup(path);
	e->url = strdup("http://engine");
	e->name = name_socket(path);
	return e->socket_path == NULL || e->url == NULL || e->name == NULL ? no_memory(err) : 0;
}

static int use_unix(struct engine_endpoint *e, const struct search *s, const char *rest,
		    struct sbx_error *err)
{
	(void)s;
	return use_socket(e, rest, err);
}

/* ---- TCP and TLS ---- */

/* *ret stays NULL where the file is not there and need not be. */
static int name_file(const struct engine_endpoint *e, const char *folder, const char *name,
		     bool needed, char **ret, struct sbx_error *err)
{
	auto_free char *path = NULL;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return no_memory(err);
	if (access(path, R_OK) == 0)
		*ret = take_ptr(path);
	else if (needed || errno != ENOENT)
		return sbx_fail(err, errno == ENOENT ? SBX_E_NOT_FOUND : SBX_E_DENIED,
				"cannot read '%.200s', which TLS to %.100s needs: %s; DOCKER_CERT_PATH names "
				"the folder with ca.pem, cert.pem and key.pem",
				path, e->name, strerror(errno));
	return 0;
}

static int name_files(struct engine_endpoint *e, const struct search *s, struct sbx_error *err)
{
	int r;

	if (s->files == NULL)
		return 0;
	r = name_file(e, s->files, "ca.pem", s->verify && s->must_have_files, &e->ca, err);
	if (r == 0)
		r = name_file(e, s->files, "cert.pem", false, &e->cert, err);
	/* One without the other is a mistake and not a wish. */
	return r < 0 ? r : name_file(e, s->files, "key.pem", e->cert != NULL, &e->key, err);
}

static bool has_port(const char *host, size_t len)
{
	const char *end = memrchr(host, ']', len);

	return memchr(end != NULL ? end : host, ':', end != NULL ? len - (size_t)(end - host) : len) !=
	       NULL;
}

static int use_url(struct engine_endpoint *e, const struct search *s, const char *rest, bool tls,
		   const char *port, struct sbx_error *err)
{
	size_t len = strcspn(rest, "/"), all = strlen(rest);

	while (all > len && rest[all - 1] == '/')
		all--;
	if (len == 0 || rest[0] == ':' || strspn(rest, URL_CHARS) != strlen(rest))
		return sbx_fail(err, SBX_E_INVALID,
				"%s is '%.128s', and has no host that can be connected to; write it as "
				"tcp://host:2376",
				e->source, s->shown);
	e->name = strdup(s->host);
	if (asprintf(&e->url, "%s://%.*s%s%.*s", tls ? "https" : "http", (int)len, rest,
		     has_port(rest, len) ? "" : port, (int)(all - len), rest + len) < 0)
		e->url = NULL;
	if (e->name == NULL || e->url == NULL)
		return no_memory(err);
	e->verify = s->verify;
	return tls ? name_files(e, s, err) : 0;
}

static int use_tcp(struct engine_endpoint *e, const struct search *s, const char *rest,
		   struct sbx_error *err)
{
	return use_url(e, s, rest, s->tls, s->tls ? ":2376" : ":2375", err);
}

static int use_http(struct engine_endpoint *e, const struct search *s, const char *rest,
		    struct sbx_error *err)
{
	if (s->tls)
		return sbx_fail(err, SBX_E_INVALID,
				"%s is '%.128s', and TLS is asked for as well; write https:// or tcp://, or "
				"unset DOCKER_TLS_VERIFY, DOCKER_TLS and DOCKER_CERT_PATH",
				e->source, s->shown);
	return use_url(e, s, rest, false, "", err);
}

static int use_https(struct engine_endpoint *e, const struct search *s, const char *rest,
		     struct sbx_error *err)
{
	struct search with_tls = *s;

	if (!s->tls)
		with_tls.verify = true;
	return use_url(e, &with_tls, rest, true, "", err);
}

/* ---- other ways ---- */

static int use_ssh(struct engine_endpoint *e, const struct search *s, const char *rest,
		   struct sbx_error *err)
{
	struct engine_ssh_target target = {
		.variable = e->source,
		.rest = rest,
		.shown = s->shown,
		.program = s->flavor->program,
		.option = s->flavor->url_option,
		.identity = variable(s->flavor->key_variable),
	};

	e->name = strdup(s->host);
	e->url = strdup("http://engine");
	return e->name == NULL || e->url == NULL ? no_memory(err)
						 : engine_ssh_command(&target, &e->command, err);
}

static int refuse_npipe(struct engine_endpoint *e, const struct search *s, const char *rest,
			struct sbx_error *err)
{
	(void)rest;
	return sbx_fail(err, SBX_E_INVALID,
			"%s is '%.128s': named pipes (npipe://) are Windows'; name a socket (unix://) or a "
			"machine (tcp://, ssh://)",
			e->source, s->shown);
}

#define SHOWN_MAX 160

/* "ssh://me:…@box" */
static void hide_password(const char *host, char ret[SHOWN_MAX])
{
	const char *scheme = strstr(host, "://"), *at = strrchr(host, '@');
	const char *name = scheme != NULL && (at == NULL || scheme < at) ? scheme + 3 : host;
	const char *colon = at != NULL ? memchr(name, ':', (size_t)(at - name)) : NULL;

	if (colon == NULL)
		snprintf(ret, SHOWN_MAX, "%s", host);
	else
		snprintf(ret, SHOWN_MAX, "%.*s:...%s", (int)(colon - host), host, at);
}

static int use_host(struct engine_endpoint *e, const struct search *found, struct sbx_error *err)
{
	static const struct {
		const char *scheme;
		int (*use)(struct engine_endpoint *, const struct search *, const char *rest,
			   struct sbx_error *);
	} rows[] = {
		{"unix://", use_unix}, {"tcp://", use_tcp}, {"http://", use_http},
		{"https://", use_https}, {"ssh://", use_ssh}, {"npipe://", refuse_npipe},
	};
	struct search with_shown = *found, *s = &with_shown;
	char shown[SHOWN_MAX];

	hide_password(s->host, shown);
	s->shown = shown;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].scheme);

		if (strncmp(s->host, rows[i].scheme, len) == 0)
			return rows[i].use(e, s, s->host + len, err);
	}
	return sbx_fail(err, SBX_E_INVALID,
			"%s is '%.128s', and has to begin with unix://, tcp://, http://, https:// or ssh://",
			e->source, s->shown);
}

/* ---- what the environment names ---- */

static int use_variable(struct engine_endpoint *e, const struct engine_flavor *flavor,
			const char *host, struct sbx_error *err)
{
	struct search s = {.flavor = flavor, .host = host};
	auto_free char *standard = NULL;

	if (flavor->contexts) {
		s.verify = variable("DOCKER_TLS_VERIFY") != NULL;
		s.tls = s.verify || variable("DOCKER_TLS") || variable("DOCKER_CERT_PATH");
		s.must_have_files = s.verify;
		s.files = variable("DOCKER_CERT_PATH");
		if (s.files == NULL && s.tls)
			s.files = standard = engine_docker_context_folder();
	}
	return use_host(e, &s, err);
}

static int use_context(struct engine_endpoint *e, const struct engine_flavor *flavor,
		       const struct engine_docker_context *c, struct sbx_error *err)
{
	struct search s = {
		.flavor = flavor,
		.host = c->host,
		.files = c->tls,
		.tls = c->tls != NULL || c->skip_verify,
		.verify = !c->skip_verify,
	};

	free(e->source);
	if (asprintf(&e->source, "the host of the Docker context '%.100s'", c->name) < 0)
		e->source = NULL;
	return e->source == NULL ? no_memory(err) : use_host(e, &s, err);
}

/* ---- the usual places ---- */

/* A place with its variable put in; false where that is not set. */
static bool expand(const char *place, char ret[PATH_MAX])
{
	static const char runtime[] = "$XDG_RUNTIME_DIR", home[] = "$HOME";
	const char *folder = variable("XDG_RUNTIME_DIR");
	char standard[32];

	if (place[0] != '$')
		return snprintf(ret, PATH_MAX, "%s", place) < PATH_MAX;
	if (strncmp(place, home, strlen(home)) == 0) {
		folder = variable("HOME");
		return folder != NULL && folder[0] == '/' &&
		       snprintf(ret, PATH_MAX, "%s%s", folder, place + strlen(home)) < PATH_MAX;
	}
	snprintf(standard, sizeof(standard), "/run/user/%u", geteuid());
	if (folder == NULL || folder[0] != '/')
		folder = standard;
	return snprintf(ret, PATH_MAX, "%s%s", folder, place + strlen(runtime)) < PATH_MAX;
}

/* The first place where access(2) has nothing against this, or where it says that it may not be. */
static bool find_place(const struct engine_flavor *flavor, int mode, char ret[PATH_MAX])
{
	for (size_t i = 0; flavor->sockets[i] != NULL; i++) {
		if (!expand(flavor->sockets[i], ret))
			continue;
		if (access(ret, mode) == 0 || (mode == F_OK && errno == EACCES))
			return true;
	}
	return false;
}

static int no_place(const struct engine_flavor *flavor, struct sbx_error *err)
{
	auto_buf struct sbx_buf list = SBX_BUF_INIT(256);
	char path[PATH_MAX];

	for (size_t i = 0; flavor->sockets[i] != NULL; i++) {
		if (expand(flavor->sockets[i], path))
			sbx_buf_printf(&list, "%s%s", list.len > 0 ? ", " : "", path);
	}
	return sbx_fail(err, SBX_E_UNAVAILABLE,
			"there is no %s engine on this machine: none of %s is there; %s", flavor->title,
			list.data ? list.data : "its usual places", flavor->start_hint);
}

/* One that may be used, else one that is there: why it cannot be used is worth a message. */
static int use_usual_place(struct engine_endpoint *e, const struct engine_flavor *flavor,
			   struct sbx_error *err)
{
	char path[PATH_MAX];

	if (find_place(flavor, R_OK | W_OK, path) || find_place(flavor, F_OK, path))
		return use_socket(e, path, err);
	return no_place(flavor, err);
}

/* ---- all ---- */

static int find(struct engine_endpoint *e, const struct engine_flavor *flavor, struct sbx_error *err)
{
	const char *host = variable(flavor->host_variable);
	struct engine_docker_context context = {0};
	int r = 0;

	e->source = strdup(host != NULL ? flavor->host_variable : "the usual place");
	if (e->source == NULL)
		return no_memory(err);
	if (host != NULL)
		return use_variable(e, flavor, host, err);
	if (flavor->contexts)
		r = engine_docker_context_find(&context, err);
	if (r < 0)
		return r;
	r = context.name != NULL ? use_context(e, flavor, &context, err)
				 : use_usual_place(e, flavor, err);
	engine_docker_context_done(&context);
	return r;
}

int engine_endpoint_find(const struct engine_flavor *flavor, struct engine_endpoint *ret,
			 struct sbx_error *err)
{
	struct engine_endpoint e = {.verify = true};
	int r = find(&e, flavor, err);

	if (r < 0)
		engine_endpoint_done(&e);
	else
		*ret = e;
	return r;
}

static bool copy_text(const char *text, char **ret)
{
	*ret = text != NULL ? strdup(text) : NULL;
	return text == NULL || *ret != NULL;
}

static bool copy_list(char *const *list, char ***ret)
{
	size_t n = sbx_strv_len(list);
	bool whole = true;

	*ret = list != NULL ? calloc(n + 1, sizeof(**ret)) : NULL;
	for (size_t i = 0; *ret != NULL && whole && i < n; i++)
		whole = copy_text(list[i], &(*ret)[i]);
	return whole && (list == NULL || *ret != NULL);
}

int engine_endpoint_copy(const struct engine_endpoint *from, struct engine_endpoint *ret,
			 struct sbx_error *err)
{
	struct engine_endpoint e = {.verify = from->verify};
	bool whole = copy_text(from->name, &e.name) && copy_text(from->source, &e.source) &&
		     copy_text(from->socket_path, &e.socket_path) && copy_text(from->url, &e.url) &&
		     copy_text(from->ca, &e.ca) && copy_text(from->cert, &e.cert) &&
		     copy_text(from->key, &e.key) && copy_list(from->command, &e.command);

	if (whole)
		*ret = e;
	else
		engine_endpoint_done(&e);
	return whole ? 0 : no_memory(err);
}

bool engine_endpoint_is_private(const struct engine_endpoint *e)
{
	static const char plain[] = "http://";
	static const char *const loopback[] = {"localhost", "127.0.0.1", "[::1]"};
	const char *host = e->url + strlen(plain);

	if (e->socket_path != NULL || e->command != NULL || strncmp(e->url, plain, strlen(plain)) != 0)
		return true;
	for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++) {
		size_t len = strlen(loopback[i]);

		if (strncasecmp(host, loopback[i], len) == 0 && strchr(":/", host[len]) != NULL)
			return true;
	}
	return false;
}

void engine_endpoint_done(struct engine_endpoint *e)
{
	free(e->name);
	free(e->source);
	free(e->socket_path);
	free(e->url);
	free(e->ca);
	free(e->cert);
	free(e->key);
	sbx_strv_free(e->command);
}
