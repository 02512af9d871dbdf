/* SPDX-License-Identifier: MIT */
/*
 * A container that is somebody else's. The agent is brought in by way of the engine's archive, executed
 * beside whatever runs there, and removes its own file as soon as it runs; its work folder goes when
 * it ends. The container is left running.
 */
#include "backend/engine/container.h"

#include "backend/engine/tar.h"
#include "base/buf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define ARCHIVE_MAX (16u << 20)

/* Podman looks for such keys also where there is no terminal. None it takes for its own; these never come. */
#define NO_KEYS "ctrl-_,ctrl-^,ctrl-_,ctrl-^,ctrl-_,ctrl-^,ctrl-_,ctrl-^"

static bool state_of(const json_t *container, const char *key)
{
	return json_is_true(json_object_get(json_object_get(container, "State"), key));
}

static int inspect(struct engine_client *client, const char *id, json_t **ret, struct sbx_error *err)
{
	char path[640];
	int r;

	snprintf(path, sizeof(path), "/containers/%s/json", id);
	r = engine_call(client, &(struct engine_request){.method = "GET", .path = path}, ret, err);
	if (r < 0 && err->code == SBX_E_NOT_FOUND)
		return sbx_fail(err, SBX_E_NOT_FOUND, "%s has no container '%.128s'; '%s ps' lists them",
				engine_client_flavor(client)->title, id,
				engine_client_flavor(client)->name);
	return r;
}

static int make_run(struct engine_client *client, const char *id, const json_t *container,
		    struct sbx_error *err)
{
	char path[640];

	if (state_of(container, "Paused"))
		return sbx_fail(err, SBX_E_INVALID, "the container '%.128s' is paused", id);
	if (state_of(container, "Running"))
		return 0;
	snprintf(path, sizeof(path), "/containers/%s/start", id);
	if (engine_call(client, &(struct engine_request){.method = "POST", .path = path}, NULL, err) < 0)
		return sbx_wrap(err, "the container '%.128s' is stopped, and cannot be started", id);
	return 0;
}

/* Names that nobody in it can foresee, and take before us; one is not told by the other. */
static int name_places(struct engine_container *c, struct sbx_error *err)
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return sbx_fail_errno(err, errno, "cannot name the agent");
	snprintf(c->program, sizeof(c->program), "/.llm-sandbox-%016" PRIx64 "/agent", random[0]);
	snprintf(c->workdir, sizeof(c->workdir), "/tmp/llm-sandbox-%016" PRIx64, random[1]);
	return 0;
}

static bool is_exec_id(const char *id)
{
	return id != NULL && id[0] != '\0' && strlen(id) <= 128 &&
	       strspn(id, "0123456789abcdef") == strlen(id);
}

static int exec_detached(struct engine_client *client, const struct engine_container *c, json_t *command,
			 struct sbx_error *err)
{
	json_t *answer = NULL, *body = json_pack("{s:o, s:s, s:s}", "Cmd", command, "User", "0:0",
						 "WorkingDir", "/");
	char path[256];
	const char *id;
	int r;

	snprintf(path, sizeof(path), "/containers/%s/exec", c->id);
	r = engine_call(client, &(struct engine_request){.method = "POST", .path = path, .body = body},
			&answer, err);
	json_decref(body);
	id = json_string_value(json_object_get(answer, "Id"));
	if (r == 0 && is_exec_id(id)) {
		snprintf(path, sizeof(path), "/exec/%s/start", id);
		body = json_pack("{s:b, s:b}", "Detach", true, "Tty", false);
		r = engine_call(client, &(struct engine_request){.method = "POST", .path = path,
								  .body = body}, NULL, err);
		json_decref(body);
	}
	json_decref(answer);
	return r;
}

static void name_folder(const struct engine_container *c, char ret[64])
{
	snprintf(ret, 64, "%.*s", (int)(strrchr(c->program, '/') - c->program), c->program);
}

/* By its own rm(1): an engine's archive puts files and removes none. */
static void remove_folder(struct engine_client *client, const struct engine_container *c)
{
	struct sbx_error ignored;
	char folder[64];

	name_folder(c, folder);
	exec_detached(client, c, json_pack("[s, s, s, s]", "rm", "-rf", "--", folder), &ignored);
}

/* A place of our own in its root: what is mounted there an archive does not reach. */
int engine_container_bring(struct engine_client *client, const struct engine_container *c,
			   struct sbx_error *err)
{
	auto_buf struct sbx_buf tar = SBX_BUF_INIT(ARCHIVE_MAX);
	char folder[64];
	int r;

	name_folder(c, folder);
	engine_tar_add_folder(&tar, folder + 1, 0755, 0, 0);
	engine_volume_pack(&tar, c->program + 1);
	r = engine_container_put(client, c, "/", &tar, err);
	/* Half of it may be there. */
	if (r < 0)
		remove_folder(client, c);
	if (r < 0)
		return sbx_wrap(err,
				"cannot bring the agent into the container '%.80s', whose root must be "
				"writable for it",
				c->id);
	return 0;
}

int engine_container_adopt(struct engine_client *client, const struct sbx_spec *spec,
			   struct engine_container *ret, json_t **ret_description,
			   struct sbx_error *err)
{
	const char *wanted = spec->container.id;
	json_t *container = NULL;
	int r = inspect(client, wanted, &container, err);

	/* From here on it is one that is never removed. */
	if (r == 0)
		r = name_places(ret, err);
	if (r < 0) {
		json_decref(container);
		return r;
	}
	if (engine_container_take_id(container, ret))
		r = make_run(client, wanted, container, err);
	else
		r = sbx_fail(err, SBX_E_PROTOCOL, "the engine does not say which container '%.128s' is",
			     wanted);
	if (r == 0)
		*ret_description = json_incref(container);
	json_decref(container);
	return r;
}

/* The agent begins as root, to become whom programs run as; they get nothing of that. */
int engine_exec_attach(struct engine_client *client, const struct engine_container *c,
		       struct engine_stream **ret, struct sbx_error *err)
{
	json_t *answer = NULL, *body;
	const char *id;
	char path[256];
	int r;

	body = json_pack("{s:[s, s, s], s:s, s:s, s:b, s:b, s:b, s:b, s:s}", "Cmd", c->program,
			 "--stdio", "--guest", "User", "0:0", "WorkingDir", "/", "AttachStdin", true,
			 "AttachStdout", true, "AttachStderr", true, "Tty", false, "DetachKeys", NO_KEYS);
	if (body == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot start the agent");
	snprintf(path, sizeof(path), "/containers/%s/exec", c->id);
	r = engine_call(client, &(struct engine_request){.method = "POST", .path = path, .body = body},
			&answer, err);
	json_decref(body);
	id = json_string_value(json_object_get(answer, "Id"));
	if (r == 0 && !is_exec_id(id))
		r = sbx_fail(err, SBX_E_PROTOCOL, "the engine does not say how the agent is called");
	if (r == 0) {
		snprintf(path, sizeof(path), "/exec/%s/start", id);
		body = json_pack("{s:b, s:b}", "Detach", false, "Tty", false);
		r = engine_stream_open(client, path, body, ret, err);
		json_decref(body);
	}
	json_decref(answer);
	return r;
}

/* The agent is in the way no more, even where the container has no rm(1). */
void engine_container_withdraw(struct engine_client *client, const struct engine_container *c)
{
	auto_buf struct sbx_buf tar = SBX_BUF_INIT(ARCHIVE_MAX);
	struct sbx_error ignored;

	engine_tar_add(&tar, c->program + 1, 0, "", 0);
	engine_tar_end(&tar);
	engine_container_put(client, c, "/", &tar, &ignored);
	remove_folder(client, c);
}
