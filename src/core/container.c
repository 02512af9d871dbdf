/* SPDX-License-Identifier: MIT */
#include "core/container.h"

#include "backend/backend.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/cancel.h"
#include "core/image_store.h"
#include "core/session.h"
#include "lang/lang.h"

#include <llmsandbox/network.h>

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_MAX_LEN 512
#define TRIED_NS     (10 * SBX_NS_PER_S)

void sbx_container_done(struct sbx_container *c)
{
	free(c->image);
	free(c->dockerfile);
	free(c->context);
	free(c->tag);
	free(c->id);
	free(c->commit_tag);
	free(c->environment);
	free(c->user);
	json_decref(c->runtime);
}

/* ---- texts ---- */

/* Keep a copy in place of what is there; NULL is none. */
static int keep(char **place, const char *text, struct sbx_error *err)
{
	char *copy = text ? strdup(text) : NULL;

	if (text != NULL && copy == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep an option of the container");
	free(*place);
	*place = copy;
	return 0;
}

/* Names go into addresses of requests: what has no place in one is no name. */
static bool is_name(const char *text, const char *more)
{
	if (!isalnum((unsigned char)text[0]) || strlen(text) > NAME_MAX_LEN || strstr(text, "..") != NULL)
		return false;
	for (; *text != '\0'; text++) {
		if (!isalnum((unsigned char)*text) && strchr(more, *text) == NULL)
			return false;
	}
	return true;
}

static int keep_name(char **place, const char *text, const char *more, const char *what,
		     struct sbx_error *err)
{
	struct sbx_error lent;

	err = err ? err : &lent;
	if (text != NULL && !is_name(text, more))
		return sbx_fail(err, SBX_E_INVALID, "'%.128s' is no name of %s", text, what);
	return keep(place, text, err);
}

#define OF_IMAGES "._-/:@"

int sbx_spec_set_image(struct sbx_spec *spec, const char *image, struct sbx_error *err)
{
	struct sbx_error lent;

	err = err ? err : &lent;
	if (image != NULL && sbx_image_is_folder(image))
		return keep(&spec->container.image, image, err);
	return keep_name(&spec->container.image, image, OF_IMAGES, "an image", err);
}

int sbx_image_check_foreign(const char *image, struct sbx_error *err)
{
	if (is_name(image, OF_IMAGES))
		return 0;
	return sbx_fail(err, SBX_E_INVALID, "'%.128s' is no name of an image", image);
}

int sbx_spec_set_container(struct sbx_spec *spec, const char *id, struct sbx_error *err)
{
	return keep_name(&spec->container.id, id, "_.-", "a container", err);
}

int sbx_spec_set_environment(struct sbx_spec *spec, const char *name, struct sbx_error *err)
{
	return keep_name(&spec->container.environment, name, "_.-", "an environment", err);
}

int sbx_spec_set_dockerfile(struct sbx_spec *spec, const char *file, const char *tag,
			    struct sbx_error *err)
{
	auto_free char *path = file ? realpath(file, NULL) : NULL;
	struct sbx_error lent;
	struct stat st;
	int r;

	err = err ? err : &lent;
	if (file != NULL && path == NULL)
		return sbx_fail(err, errno == ENOENT ? SBX_E_NOT_FOUND : SBX_E_INVALID,
				"cannot build an image from '%.256s': %s", file, strerror(errno));
	if (path != NULL && (stat(path, &st) < 0 || !S_ISREG(st.st_mode)))
		return sbx_fail(err, SBX_E_INVALID,
				"cannot build an image from '%.256s': name the Containerfile itself", file);
	r = keep_name(&spec->container.tag, tag, OF_IMAGES, "an image", err);
	return r < 0 ? r : keep(&spec->container.dockerfile, path, err);
}

int sbx_spec_set_build_context(struct sbx_spec *spec, const char *folder, struct sbx_error *err)
{
	auto_free char *path = folder ? realpath(folder, NULL) : NULL;
	struct sbx_error lent;
	struct stat st;

	err = err ? err : &lent;
	if (folder != NULL && path == NULL)
		return sbx_fail(err, errno == ENOENT ? SBX_E_NOT_FOUND : SBX_E_INVALID,
				"cannot build an image with '%.256s': %s", folder, strerror(errno));
	if (path != NULL && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
		return sbx_fail(err, SBX_E_INVALID, "cannot build an image with '%.256s': it is no folder",
				folder);
	return keep(&spec->container.context, path, err);
}

int sbx_spec_set_commit(struct sbx_spec *spec, bool commit, const char *tag, struct sbx_error *err)
{
	int r = keep_name(&spec->container.commit_tag, tag, "._-/:", "an image", err);

	if (r == 0)
		spec->container.commit = commit;
	return r;
}

int sbx_spec_set_pull(struct sbx_spec *spec, enum sbx_pull pull, struct sbx_error *err)
{
	struct sbx_error lent;

	if ((unsigned int)pull > SBX_PULL_NEVER)
		return sbx_fail(err ? err : &lent, SBX_E_INVALID, "there is no pull policy number %d",
				(int)pull);
	spec->container.pull = pull;
	return 0;
}

void sbx_spec_keep_template(struct sbx_spec *spec, bool keep_it)
{
	spec->container.keep_template = keep_it;
}

void sbx_spec_skip_environment_setup(struct sbx_spec *spec, bool skip)
{
	spec->no_libraries = skip;
}

void sbx_spec_on_progress(struct sbx_spec *spec, sbx_engine_line_fn *fn, void *userdata)
{
	spec->container.on_progress = fn;
	spec->container.userdata = userdata;
}

static bool is_given_up(const void *cancel)
{
	const struct sbx_cancel *c = cancel;

	return sbx_cancel_is_killed(c) || atomic_load(&c->interrupts) > 0;
}

void sbx_spec_set_cancel(struct sbx_spec *spec, const struct sbx_cancel *cancel)
{
	spec->container.is_given_up = cancel != NULL ? is_given_up : NULL;
	spec->container.cancel = cancel;
}

/* ---- backends by name ---- */

/* Whether this machine isolates with it: what a session that is opened comes to. */
static bool try_session(const struct sbx_backend *backend)
{
	struct sbx_session *session = NULL;
	struct sbx_spec *spec = NULL;
	struct sbx_error ignored;
	bool works;

	if (sbx_spec_new(&spec, &ignored) < 0)
		return false;
	spec->backend = backend;
	spec->no_libraries = true;
	spec->language = "none";
	works = sbx_session_open(spec, &session, &ignored) == 0 &&
		sbx_session_greet(session, NULL, &ignored) == 0;
	sbx_session_close(session);
	sbx_spec_free(spec);
	return works;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what works_here() remembers */

/* A process that is forked off has none of the threads, one of which may have had the lock. */
static void start_anew_in_a_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, start_anew_in_a_child);
}

/*
 * The same for a while: trying costs what a session costs, and a server asks for each of its own. The
 * lock is held meanwhile, so that many who ask at once try once.
 */
static bool works_here(const struct sbx_backend *native)
{
	static uint64_t tried_ns;
	static bool works;
	bool answer;

	pthread_mutex_lock(&lock);
	if (tried_ns == 0 || sbx_now_ns() - tried_ns > TRIED_NS) {
		works = try_session(native);
		tried_ns = sbx_now_ns();
	}
	answer = works;
	pthread_mutex_unlock(&lock);
	return answer;
}

/* Of another backend an image may mean something of its own. */
static const char *find_foreign(const struct sbx_container *c)
{
	if (c->dockerfile != NULL)
		return "a Containerfile is built";
	if (c->id != NULL)
		return "a container is attached to";
	if (c->commit)
		return "a container is committed";
	return json_object_size(c->runtime) > 0 ? "runtime_configs are passed on" : NULL;
}

/* An image that the native backend has, and nothing that only an engine could do. */
static bool is_native(const struct sbx_container *c)
{
	struct sbx_error ignored;
	auto_free char *root = NULL;

	return c->image != NULL && find_foreign(c) == NULL &&
	       sbx_image_find_root(c->image, &root, &ignored) == 0;
}

static int choose_backend(struct sbx_spec *spec, struct sbx_error *err)
{
	static const char *const engines[] = {"podman", "docker"};
	const struct sbx_backend *native = sbx_backend_find("native");
	struct sbx_error ignored;

	if ((!sbx_container_is_wished(&spec->container) || is_native(&spec->container)) &&
	    works_here(native)) {
		spec->backend = native;
		return 0;
	}
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		const struct sbx_backend *backend = sbx_backend_find(engines[i]);

		if (sbx_backend_probe(backend, &ignored) == 0) {
			spec->backend = backend;
			return 0;
		}
	}
	return sbx_fail(err, SBX_E_UNAVAILABLE,
			"there is no backend for this: no container engine answers%s; 'llm-sandbox doctor' "
			"says what is missing",
			sbx_container_is_wished(&spec->container)
				? ""
				: ", and the native backend does not work on this machine");
}

int sbx_spec_set_backend(struct sbx_spec *spec, const char *name, struct sbx_error *err)
{
	bool is_mamba = strcmp(name, "micromamba") == 0;
	const struct sbx_backend *backend;
	struct sbx_error lent;
	int r = 0;

	err = err ? err : &lent;
	if (strcmp(name, "auto") == 0)
		return choose_backend(spec, err);
	backend = sbx_backend_find(is_mamba ? "docker" : name);
	if (backend == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "there is no backend '%.64s'; there is: %s, auto",
				name, sbx_backend_names());
	if (is_mamba && spec->container.environment == NULL)
		r = sbx_spec_set_environment(spec, "base", err);
	if (r == 0)
		spec->backend = backend;
	return r;
}

/* ---- what goes together ---- */

bool sbx_container_is_wished(const struct sbx_container *c)
{
	return c->image != NULL || c->dockerfile != NULL || c->id != NULL || c->commit ||
	       c->environment != NULL || json_object_size(c->runtime) > 0;
}

int sbx_container_check(const struct sbx_spec *spec, struct sbx_error *err)
{
	const struct sbx_container *c = &spec->container;
	const char *foreign = find_foreign(c);

	if (c->image != NULL && c->dockerfile != NULL)
		return sbx_fail(err, SBX_E_INVALID,
				"an image is named and one is to be built from '%.128s'; it must be one of them",
				c->dockerfile);
	if (c->id != NULL && c->dockerfile != NULL)
		return sbx_fail(err, SBX_E_INVALID,
				"the container '%.64s' is there, and needs no image built from '%.128s'",
				c->id, c->dockerfile);
	if (c->id != NULL && (c->commit || json_object_size(c->runtime) > 0))
		return sbx_fail(err, SBX_E_INVALID,
				"the container '%.64s' is somebody else's: it is neither committed nor made "
				"with runtime_configs",
				c->id);
	if (c->image != NULL && sbx_image_is_folder(c->image) && sbx_backend_has_own_tools(spec->backend))
		return sbx_fail(err, SBX_E_INVALID,
				"the image '%.128s' is a folder, which is of the native backend alone; "
				"'llm-sandbox image import' brings it into an engine",
				c->image);
	if (c->environment != NULL && c->image == NULL && !sbx_backend_has_own_tools(spec->backend))
		return sbx_fail(err, SBX_E_INVALID,
				"the environment '%.64s' is of an image, and none is named; name one, or choose "
				"the backend docker or podman", c->environment);
	if (foreign != NULL && !sbx_backend_has_own_tools(spec->backend))
		return sbx_fail(err, SBX_E_INVALID,
				"%s by container engines alone; choose the backend docker or podman", foreign);
	/* The backend may have been chosen after the folder. */
	if (!sbx_backend_has_own_tools(spec->backend) && !sbx_spec_may_work_in(spec, spec->workdir))
		return sbx_fail(err, SBX_E_INVALID,
				"the work folder '%.128s' must be in /sandbox, /tmp, /home/sandbox or a "
				"writable mount",
				spec->workdir);
	return 0;
}

/* ---- the image of a language ---- */

int sbx_explain_lacking_image(const struct sbx_spec *spec, const char *name,
			      const struct sbx_lang *lang, struct sbx_error *err)
{
	bool engine = sbx_backend_has_own_tools(spec->backend);

	if (spec->container.id != NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND,
				"the container '%.128s' has no %s: '%s' is not found by its PATH", name,
				lang->info.title, lang->tools[0]);
	return sbx_fail(err, SBX_E_NOT_FOUND,
			"the image '%.128s' has no %s: '%s' is not found by its PATH; name an image that has it%s%s%s, "
			"or make one: llm-sandbox image build %s%s%s",
			name, lang->info.title, lang->tools[0], engine ? " (" : "",
			engine ? lang->image : "", engine ? ")" : "", lang->info.id,
			engine ? " --backend " : "", engine ? sbx_backend_name(spec->backend) : "");
}

void sbx_container_free_choices(struct sbx_spec *copy)
{
	free(copy->container.choices[0]);
	free(copy->container.choices[1]);
}

/* Where any language may be run it is that of the first, as the original has it. */
int sbx_container_choose(struct sbx_spec *copy, struct sbx_error *err)
{
	struct sbx_container *c = &copy->container;
	const struct sbx_lang *lang = copy->language ? sbx_lang_find(copy->language) : NULL;

	if (c->image != NULL || c->dockerfile != NULL || c->id != NULL)
		return 0;
	if (lang == NULL)
		lang = sbx_lang_at(0);
	if (c->environment != NULL) {
		c->choices[0] = strdup("mambaorg/micromamba:latest");
		return c->choices[0] ? 0 : sbx_fail_errno(err, ENOMEM, "cannot name an image");
	}
	if (asprintf(&c->choices[0], "llm-sandbox/%s:latest", lang->info.id) < 0)
		c->choices[0] = NULL;
	c->choices[1] = strdup(lang->image);
	if (c->choices[0] == NULL || c->choices[1] == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot name an image");
	return 0;
}
