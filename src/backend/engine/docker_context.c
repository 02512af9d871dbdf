/* SPDX-License-Identifier: MIT */
#include "backend/engine/docker_context.h"

#include "base/auto.h"
#include "base/io.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX (1u << 20)

static int no_memory(struct sbx_error *err)
{
	return sbx_fail_errno(err, ENOMEM, "cannot look for Docker contexts");
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

char *engine_docker_context_folder(void)
{
	const char *folder = variable("DOCKER_CONFIG"), *home = variable("HOME");
	char *path;

	if (folder != NULL)
		return strdup(folder);
	return home != NULL && asprintf(&path, "%s/.docker", home) >= 0 ? path : NULL;
}

/* *ret stays NULL where there is no such file. A link is followed: the folder is the user's own. */
static int read_json(const char *path, json_t **ret, struct sbx_error *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	auto_free char *text = NULL;
	json_error_t where;
	size_t len = 0;
	int r;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot open '%s'", path);
	r = sbx_read_stream(fd, path, FILE_MAX, &text, &len, err);
	if (r < 0)
		return r;
	*ret = json_loadb(text, len, 0, &where);
	/* What jansson says of it has a piece of the file, which may be a secret. */
	if (*ret == NULL)
		return sbx_fail(err, SBX_E_INVALID,
				"'%s' is not well-formed JSON (line %d); mend it, or set DOCKER_HOST", path,
				where.line);
	return 0;
}

/* ---- which one ---- */

static int find_name(const char *folder, struct engine_docker_context *c, struct sbx_error *err)
{
	const char *name = variable("DOCKER_CONTEXT");
	auto_free char *path = NULL;
	json_t *config = NULL;
	int r = 0;

	c->from_variable = name != NULL;
	if (name == NULL) {
		if (asprintf(&path, "%s/config.json", folder) < 0)
			return no_memory(err);
		r = read_json(path, &config, err);
		name = json_string_value(json_object_get(config, "currentContext"));
	}
	if (r == 0 && name != NULL && name[0] != '\0' && strcmp(name, "default") != 0) {
		c->name = strdup(name);
		r = c->name != NULL ? 0 : no_memory(err);
	}
	json_decref(config);
	return r;
}

/* ---- what it says ---- */

static int no_context(const struct engine_docker_context *c, const char *path, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_NOT_FOUND,
			"there is no Docker context '%.100s', which %s names: '%.200s' does not exist; "
			"choose one of 'docker context ls', or set DOCKER_HOST",
			c->name, c->from_variable ? "DOCKER_CONTEXT" : "currentContext in config.json",
			path);
}

static int read_host(struct engine_docker_context *c, const char *path, struct sbx_error *err)
{
	json_t *meta = NULL, *docker;
	const char *host;
	int r = read_json(path, &meta, err);

	if (r < 0)
		return r;
	if (meta == NULL)
		return no_context(c, path, err);
	docker = json_object_get(json_object_get(meta, "Endpoints"), "docker");
	host = json_string_value(json_object_get(docker, "Host"));
	c->skip_verify = json_is_true(json_object_get(docker, "SkipTLSVerify"));
	c->host = host != NULL ? strdup(host) : NULL;
	if (c->host == NULL)
		r = sbx_fail(err, SBX_E_INVALID,
			     "the Docker context '%.100s' names no host (Endpoints.docker.Host in '%.200s')",
			     c->name, path);
	json_decref(meta);
	return r;
}

static int read_context(const char *folder, struct engine_docker_context *c, struct sbx_error *err)
{
	struct sbx_sha256 hash = SBX_SHA256_INIT;
	auto_free char *path = NULL;
	char hex[SBX_SHA256_HEX];

	sbx_sha256_add(&hash, c->name, strlen(c->name));
	sbx_sha256_hex(&hash, hex);
	if (asprintf(&path, "%s/contexts/meta/%s/meta.json", folder, hex) < 0 ||
	    asprintf(&c->tls, "%s/contexts/tls/%s/docker", folder, hex) < 0)
		return no_memory(err);
	if (access(c->tls, F_OK) < 0) {
		free(c->tls);
		c->tls = NULL;
	}
	return read_host(c, path, err);
}

int engine_docker_context_find(struct engine_docker_context *ret, struct sbx_error *err)
{
	auto_free char *folder = engine_docker_context_folder();
	struct engine_docker_context c = {0};
	int r = 0;

	if (folder != NULL)
		r = find_name(folder, &c, err);
	if (r == 0 && c.name != NULL)
		r = read_context(folder, &c, err);
	if (r < 0)
		engine_docker_context_done(&c);
	else
		*ret = c;
	return r;
}

void engine_docker_context_done(struct engine_docker_context *c)
{
	free(c->name);
	free(c->host);
	free(c->tls);
}
