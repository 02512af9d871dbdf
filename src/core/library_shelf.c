/* SPDX-License-Identifier: MIT */
#include "core/library_shelf.h"

#include "backend/backend.h"
#include "core/library_files.h"
#include "core/session.h"
#include "core/transfer.h"

#include <llmsandbox/container.h>
#include <llmsandbox/files.h>

#include <stdio.h>
#include <string.h>

#define FOLDER_MODE 0311 /* it is not listed, and what is in it is reached by name */

/* A sandbox of the image that shows its sets. */
struct keeper {
	struct sbx_spec *spec;
	struct sbx_session *session;
	const char *folder; /* of the sets */
};

static void close_keeper(struct keeper *k)
{
	sbx_session_close(k->session);
	sbx_spec_free(k->spec);
}

/* Root owns what is in the volume; what it may do elsewhere is of no use to it. */
static int describe(const struct sbx_library_set *set, const struct sbx_backend *backend,
		    struct sbx_spec *spec, struct sbx_error *err)
{
	int r = sbx_spec_set_language(spec, "none", err);

	spec->backend = backend;
	spec->uid = spec->gid = 0;
	spec->sets_writable = true;
	if (r == 0)
		r = sbx_spec_set_pull(spec, SBX_PULL_NEVER, err);
	if (r == 0)
		r = sbx_spec_set_limit(spec, SBX_LIMIT_DISK_BYTES, SBX_SET_BYTES_MAX, err);
	return r < 0 ? r : sbx_spec_set_image(spec, set->image, err);
}

static int open_session(struct keeper *k, struct sbx_error *err)
{
	const struct sbx_place_sets *sets;
	int r = sbx_session_open(k->spec, &k->session, err);

	if (r == 0)
		r = sbx_session_greet(k->session, NULL, err);
	if (r < 0)
		return r;
	sets = sbx_place_sets(k->session->place);
	if (sets == NULL)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the engine has no place for libraries any more");
	k->folder = sets->folder;
	return 0;
}

/* On failure there is nothing to close. */
static int open_keeper(const struct sbx_library_set *set, struct keeper *ret, struct sbx_error *err)
{
	const struct sbx_backend *backend = sbx_backend_find(set->backend);
	struct keeper k = {0};
	int r;

	if (backend == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "there is no backend '%.32s'", set->backend);
	r = sbx_spec_new(&k.spec, err);
	if (r == 0)
		r = describe(set, backend, k.spec, err);
	if (r == 0)
		r = open_session(&k, err);
	if (r < 0)
		close_keeper(&k);
	else
		*ret = k;
	return r;
}

/* ---- in ---- */

static int make_folder(struct keeper *k, struct sbx_error *err)
{
	struct sbx_sender sender;
	int r = sbx_sender_begin(&sender, k->session, NULL, err);

	if (r < 0)
		return r;
	r = sbx_sender_folder(&sender, k->folder, FOLDER_MODE, err);
	return sbx_sender_end(&sender, r, err);
}

int sbx_shelf_put(const struct sbx_library_set *set, const char *from, const char *name,
		  struct sbx_cancel *cancel, struct sbx_error *err)
{
	struct sbx_copy how = {.cancel = cancel};
	struct keeper k;
	char to[256];
	int r = open_keeper(set, &k, err);

	if (r == 0) {
		snprintf(to, sizeof(to), "%s/%s", k.folder, name);
		r = make_folder(&k, err);
		if (r == 0)
			r = sbx_session_put(k.session, from, to, &how, NULL, err);
		close_keeper(&k);
	}
	return r < 0 ? sbx_wrap(err, "cannot give the libraries to %s", set->backend) : 0;
}

/* ---- out ---- */

int sbx_shelf_get(const struct sbx_library_set *set, const char *name, const char *to,
		  struct sbx_error *err)
{
	struct sbx_copy how = {.most_bytes = SBX_SET_BYTES_MAX};
	struct keeper k;
	char from[256];
	int r = sbx_shelf_check(set, err);

	if (r == 0)
		r = open_keeper(set, &k, err);
	if (r < 0)
		return r;
	snprintf(from, sizeof(from), "%s/%s", k.folder, name);
	r = sbx_session_get(k.session, from, to, &how, NULL, err);
	close_keeper(&k);
	return r;
}

/* ---- away ---- */

int sbx_shelf_check(const struct sbx_library_set *set, struct sbx_error *err)
{
	const struct sbx_backend *backend = sbx_backend_find(set->backend);
	const struct sbx_backend_sets *sets = backend ? sbx_backend_sets(backend) : NULL;
	char engine[SBX_ENGINE_MAX];
	int r;

	if (sets == NULL)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "there is no backend '%.32s'", set->backend);
	r = sets->engine(engine, err);
	if (r < 0 || strcmp(engine, set->engine) == 0)
		return r;
	return sbx_fail(err, SBX_E_UNAVAILABLE,
			"the set of libraries '%s' is kept by %s at '%.128s', and '%.128s' is used now; set "
			"DOCKER_HOST or CONTAINER_HOST",
			set->id, set->backend, set->engine, engine);
}

static int remove_in(struct keeper *k, const char *name, struct sbx_error *err)
{
	char path[256];
	int r;

	snprintf(path, sizeof(path), "%s/%s", k->folder, name);
	r = sbx_session_remove_file(k->session, path, true, err);
	return r < 0 && err->code == SBX_E_NOT_FOUND ? 0 : r;
}

int sbx_shelf_remove(const struct sbx_library_set *set, const char *name, struct sbx_error *err)
{
	struct keeper k;
	int r = sbx_shelf_check(set, err);

	if (r < 0 || sbx_shelf_is_gone(set))
		return r;
	r = open_keeper(set, &k, err);
	/* Without its image none of the sets that are there is of use. */
	if (r < 0 && err->code == SBX_E_NOT_FOUND)
		return sbx_backend_sets(sbx_backend_find(set->backend))->discard(set->image, err);
	if (r < 0)
		return r;
	r = remove_in(&k, name, err);
	close_keeper(&k);
	return r;
}

bool sbx_shelf_is_gone(const struct sbx_library_set *set)
{
	const struct sbx_backend *backend = sbx_backend_find(set->backend);
	struct sbx_error ignored;
	bool exists;

	return backend != NULL && sbx_backend_sets(backend) != NULL &&
	       sbx_backend_sets(backend)->exists(set->image, &exists, &ignored) == 0 && !exists;
}
