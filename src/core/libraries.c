/* SPDX-License-Identifier: MIT */
#include "core/libraries.h"

#include "backend/backend.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/strv.h"
#include "core/image_store.h"
#include "core/library_json.h"
#include "core/library_lock.h"
#include "core/library_set.h"
#include "core/library_store.h"
#include "core/session.h"
#include "core/toolchain.h"

#include <llmsandbox/files.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

void sbx_libraries_init(struct sbx_libraries *libraries)
{
	*libraries = (struct sbx_libraries){0};
	pthread_mutex_init(&libraries->installing, NULL);
	pthread_mutex_init(&libraries->lock, NULL);
}

void sbx_libraries_done(struct sbx_libraries *libraries)
{
	for (size_t i = 0; i < libraries->count; i++) {
		sbx_strv_free(libraries->used[i].requirements);
		free(libraries->used[i].folder);
		close(libraries->used[i].lock_fd);
	}
	free(libraries->used);
	free(libraries->folder);
	pthread_mutex_destroy(&libraries->lock);
	pthread_mutex_destroy(&libraries->installing);
}

void sbx_libraries_show(struct sbx_libraries *libraries, struct sbx_spec *spec)
{
	char *host;

	if (spec->no_libraries || spec->mount_count == SBX_MOUNTS_MAX)
		return;
	host = sbx_store_sets();
	if (host == NULL)
		return;
	libraries->folder = strdup(sbx_backend_shows_mounts(spec->backend) ? SBX_LIBRARIES_INSIDE : host);
	spec->mounts[spec->mount_count++] = (struct sbx_mount){
		.host = host,
		.inside = (char *)SBX_LIBRARIES_INSIDE,
		.as_is = true,
	};
}

/* ---- the end ---- */

static void kill_builder(struct sbx_libraries *libraries)
{
	if (libraries->builder != NULL)
		sbx_place_kill(libraries->builder->place);
}

void sbx_libraries_end(struct sbx_libraries *libraries)
{
	libraries->ended = true;
	pthread_mutex_lock(&libraries->lock);
	kill_builder(libraries);
	pthread_mutex_unlock(&libraries->lock);
}

void sbx_libraries_watch(struct sbx_libraries *libraries, struct sbx_session *builder)
{
	if (libraries == NULL)
		return;
	pthread_mutex_lock(&libraries->lock);
	libraries->builder = builder;
	if (libraries->ended)
		kill_builder(libraries);
	pthread_mutex_unlock(&libraries->lock);
}

/* ---- sets in use ---- */

/* Under the lock. */
/* What it points to stays until the session is closed. */
static const struct sbx_used_set *find(const struct sbx_libraries *libraries,
				       const struct sbx_lang *lang)
{
	for (size_t i = libraries->count; i > 0; i--) {
		if (libraries->used[i - 1].lang == lang)
			return &libraries->used[i - 1];
	}
	return NULL;
}

static const struct sbx_used_set *look_up(struct sbx_libraries *libraries,
					  const struct sbx_lang *lang)
{
	const struct sbx_used_set *used;

	pthread_mutex_lock(&libraries->lock);
	used = find(libraries, lang);
	pthread_mutex_unlock(&libraries->lock);
	return used;
}

const char *sbx_libraries_folder(struct sbx_session *session, const struct sbx_lang *lang)
{
	const struct sbx_used_set *used = look_up(&session->libraries, lang);

	return used ? used->folder : NULL;
}

static bool contains(char *const *list, const char *text)
{
	for (size_t i = 0; list[i] != NULL; i++) {
		if (strcmp(list[i], text) == 0)
			return true;
	}
	return false;
}

static bool has_all(const struct sbx_used_set *used, const char *const *wanted)
{
	for (size_t i = 0; wanted[i] != NULL; i++) {
		if (used == NULL || !contains(used->requirements, wanted[i]))
			return false;
	}
	return used != NULL;
}

/*
 * A container shows the volume of its image's sets. Where it does not, as one that is somebody else's, what a
 * session uses is put into it, below its scratch folder, as the user's own files. While nobody else installs.
 */
static void find_folder(struct sbx_session *session)
{
	struct sbx_libraries *libraries = &session->libraries;
	const struct sbx_place_sets *sets = sbx_place_sets(session->place);

	if (libraries->folder == NULL && sets != NULL && !session->spec->no_libraries)
		libraries->folder = strdup(sets->folder);
	if (libraries->folder != NULL || session->spec->no_libraries ||
	    sbx_place_image_id(session->place) == NULL)
		return;
	if (asprintf(&libraries->folder, "%s/.llm-sandbox-libraries", sbx_session_scratch(session)) < 0)
		libraries->folder = NULL;
}

static int put_in(struct sbx_session *session, const struct sbx_lease *lease,
		  const struct sbx_install *how, struct sbx_error *err)
{
	struct sbx_copy copy = {.cancel = how->cancel};
	auto_free char *sets = sbx_store_sets(), *from = NULL, *to = NULL;
	int r;

	if (sets == NULL || asprintf(&from, "%s/%s", sets, lease->name) < 0)
		from = NULL;
	if (asprintf(&to, "%s/%s", session->libraries.folder, lease->name) < 0)
		to = NULL;
	if (from == NULL || to == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot name a set of libraries");
	r = sbx_session_put(session, from, to, &copy, NULL, err);
	return r < 0 ? sbx_wrap(err, "cannot put the libraries into the container") : 0;
}

static int check_session(const struct sbx_session *session, const struct sbx_lang *lang,
			 struct sbx_error *err)
{
	if (lang->install == NULL)
		return sbx_fail(err, SBX_E_INVALID, "there are no libraries for %s", lang->info.title);
	if (session->spec->no_libraries)
		return sbx_fail(err, SBX_E_INVALID,
				"libraries are switched off for this session; open one that allows them");
	if (session->libraries.folder == NULL)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"libraries were not available when this session was opened: there is no "
				"cache folder that this user can write and others cannot, there are too "
				"many mounts, or the image has something else where they are shown");
	if (session->libraries.count == SBX_USED_SETS_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "a session cannot use more than %u sets of libraries",
				SBX_USED_SETS_MAX);
	return 0;
}

static bool append(struct sbx_libraries *libraries, const struct sbx_used_set *used)
{
	bool good;

	pthread_mutex_lock(&libraries->lock);
	if (libraries->used == NULL)
		libraries->used = calloc(SBX_USED_SETS_MAX, sizeof(*libraries->used));
	good = libraries->used != NULL;
	if (good)
		libraries->used[libraries->count++] = *used;
	pthread_mutex_unlock(&libraries->lock);
	return good;
}

/* Takes requirements, and what the lease holds but its set. */
static int add(struct sbx_libraries *libraries, const struct sbx_lang *lang, char **requirements,
	       struct sbx_lease *lease, struct sbx_error *err)
{
	struct sbx_used_set used = {
		.lang = lang, .requirements = requirements, .lock_fd = lease->lock_fd};

	snprintf(used.id, sizeof(used.id), "%s", lease->set->id);
	if (asprintf(&used.folder, "%s/%s", libraries->folder, lease->name) < 0)
		used.folder = NULL;
	if (used.folder == NULL || !append(libraries, &used)) {
		free(used.folder);
		return sbx_fail_errno(err, ENOMEM, "cannot use a set of libraries");
	}
	return 0;
}

/* Whose tool chain a set is for, with what it takes to say so. */
struct tools {
	struct sbx_tools known;
	char *root, *key; /* owned */
};

/* An image of the native backend: its tools may change under its name. */
static int find_native_tools(const struct sbx_session *session, const struct sbx_lang *lang,
			     struct tools *ret, struct sbx_error *err)
{
	const struct sbx_spec *spec = session->spec;
	char key[SBX_SHA256_HEX];
	int r = sbx_image_find_root(spec->container.image, &ret->root, err);

	if (r == 0)
		r = sbx_toolchain_key(lang, ret->root, sbx_session_tool_path(session), key, err);
	if (r < 0)
		return r;
	ret->key = strdup(key);
	ret->known = (struct sbx_tools){
		.backend = spec->backend,
		.image = spec->container.image,
		.environment = spec->container.environment,
		.name = spec->container.image,
		.title = spec->container.image,
		.key = ret->key,
	};
	return ret->key ? 0 : sbx_fail_errno(err, ENOMEM, "cannot name a set of libraries");
}

/* An engine's image is its contents; where they are kept in its volume, that is another's than our own. */
static int find_engine_tools(const struct sbx_session *session, struct tools *ret,
			     struct sbx_error *err)
{
	const struct sbx_place_sets *sets = sbx_place_sets(session->place);
	const char *id = sbx_place_image_id(session->place);
	const char *environment = session->spec->container.environment;

	if (asprintf(&ret->key, "%s %s %s", sets ? sets->engine : "", id, environment ? environment : "") < 0) {
		ret->key = NULL;
		return sbx_fail_errno(err, ENOMEM, "cannot name a set of libraries");
	}
	ret->known = (struct sbx_tools){
		.backend = session->spec->backend,
		.image = id,
		.environment = environment,
		.name = id,
		.title = session->spec->container.image ? session->spec->container.image : id,
		.key = ret->key,
		.engine = sets ? sets->engine : NULL,
	};
	return 0;
}

static int find_tools(const struct sbx_session *session, const struct sbx_lang *lang, struct tools *ret,
		      struct sbx_error *err)
{
	if (sbx_place_image_id(session->place) != NULL)
		return find_engine_tools(session, ret, err);
	return session->spec->container.image != NULL ? find_native_tools(session, lang, ret, err) : 0;
}

/* Whether the session sees the set that an engine keeps; a volume may have gone behind our back. */
static int look_for(struct sbx_session *session, const struct sbx_lease *lease, bool *ret_there,
		    struct sbx_error *err)
{
	struct sbx_file_info info;
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s/%s", session->libraries.folder, lease->name);
	r = sbx_session_stat_file(session, path, &info, err);
	*ret_there = r == 0;
	if (r == 0)
		free(info.path);
	return r < 0 && err->code == SBX_E_NOT_FOUND ? 0 : r;
}

static void forget_set(const struct sbx_lease *lease)
{
	struct sbx_error ignored;
	struct sbx_store store;

	if (sbx_store_open(&store, &ignored) < 0)
		return;
	sbx_store_forget(&store, lease->set->id, lease->name);
	sbx_store_close(&store);
}

static void drop(const struct sbx_lease *lease)
{
	sbx_library_set_free(lease->set);
	close(lease->lock_fd);
}

/* *ret is a lease only where the set is there. */
static int try_to_acquire(struct sbx_session *session, const struct sbx_set_request *request,
			  struct sbx_lease *ret, bool *ret_there, struct sbx_error *err)
{
	int r = sbx_set_acquire(request, ret, err);

	if (r < 0)
		return r;
	*ret_there = true;
	if (sbx_set_is_elsewhere(ret->set))
		r = look_for(session, ret, ret_there, err);
	if (r == 0 && !*ret_there)
		forget_set(ret);
	if (r < 0 || !*ret_there)
		drop(ret);
	return r;
}

/* One that has gone is made anew, once. */
static int acquire_seen(struct sbx_session *session, const struct sbx_set_request *request,
			struct sbx_lease *ret, struct sbx_error *err)
{
	bool there = true;
	int r = try_to_acquire(session, request, ret, &there, err);

	if (r == 0 && !there)
		r = try_to_acquire(session, request, ret, &there, err);
	if (r == 0 && !there)
		r = sbx_fail(err, SBX_E_UNAVAILABLE, "the sandbox does not see the libraries that were given to %s",
			     sbx_backend_name(session->spec->backend));
	return r;
}

/* Where neither this machine's folder is shown nor an engine's volume, they are put in as files. */
static bool is_put_in(const struct sbx_session *session)
{
	return sbx_place_image_id(session->place) != NULL && sbx_place_sets(session->place) == NULL;
}

/* Takes the request's requirements. */
static int acquire_for(struct sbx_session *session, const struct sbx_lang *lang,
		       struct sbx_set_request *request, struct sbx_error *err)
{
	struct sbx_libraries *libraries = &session->libraries;
	struct sbx_lease lease;
	int r = acquire_seen(session, request, &lease, err);

	if (r < 0)
		return r;
	if (is_put_in(session))
		r = put_in(session, &lease, request->how, err);
	if (r == 0)
		r = add(libraries, lang, request->requirements, &lease, err);
	sbx_library_set_free(lease.set);
	if (r < 0)
		close(lease.lock_fd);
	return r;
}

static int find_and_acquire(struct sbx_session *session, const struct sbx_lang *lang,
			    struct sbx_set_request *request, struct sbx_error *err)
{
	struct tools tools = {.root = NULL};
	int r = find_tools(session, lang, &tools, err);

	request->tools = tools.known.image != NULL ? &tools.known : NULL;
	if (r == 0)
		r = acquire_for(session, lang, request, err);
	free(tools.root);
	free(tools.key);
	return r;
}

/* While nobody else installs: the set of what was used before and what is wanted, in one. */
static int acquire(struct sbx_session *session, const struct sbx_lang *lang,
		   const char *const *wanted, const struct sbx_install *how, struct sbx_error *err)
{
	struct sbx_libraries *libraries = &session->libraries;
	const struct sbx_used_set *before = look_up(libraries, lang);
	struct sbx_set_request request = {.lang = lang, .how = how, .owner = libraries};
	int r;

	find_folder(session);
	request.folder = libraries->folder;
	r = check_session(session, lang, err);
	if (r == 0)
		r = sbx_requirements_join(lang, before ? before->requirements : NULL, wanted,
					  &request.requirements, err);
	if (r < 0)
		return r;
	r = find_and_acquire(session, lang, &request, err);
	if (r < 0)
		sbx_strv_free(request.requirements);
	return r;
}

/* Wait for another installation of this session, unless that takes too long. */
static int begin(struct sbx_libraries *libraries, const struct sbx_install *how,
		 struct sbx_error *err)
{
	struct sbx_store_wait wait = {
		.deadline_ns = sbx_deadline_ns(how->timeout_ms ? how->timeout_ms : SBX_INSTALL_MS),
		.cancel = how->cancel,
		.ended = &libraries->ended,
	};
	int r = 0;

	while (r == 0 && pthread_mutex_trylock(&libraries->installing) != 0)
		r = sbx_store_wait(&wait, err);
	return r;
}

int sbx_libraries_use(struct sbx_session *session, const struct sbx_lang *lang,
		      const char *const *wanted, const struct sbx_install *how, const char **ret,
		      struct sbx_error *err)
{
	static const struct sbx_install standard;
	struct sbx_libraries *libraries = &session->libraries;
	const struct sbx_used_set *used = look_up(libraries, lang);
	int r = 0;

	if (wanted != NULL && wanted[0] != NULL && !has_all(used, wanted)) {
		how = how ? how : &standard;
		r = begin(libraries, how, err);
		if (r < 0)
			return r;
		used = look_up(libraries, lang);
		if (!has_all(used, wanted))
			r = acquire(session, lang, wanted, how, err);
		used = look_up(libraries, lang);
		pthread_mutex_unlock(&libraries->installing);
	}
	if (r == 0)
		*ret = used ? used->folder : NULL;
	return r;
}

/* What the store has of the set that is used now. */
static int describe(struct sbx_session *session, const struct sbx_lang *lang,
		    struct sbx_library_set **ret, struct sbx_error *err)
{
	const struct sbx_used_set *used = look_up(&session->libraries, lang);
	struct sbx_stored stored;
	struct sbx_store store;
	int r;

	r = sbx_store_open(&store, err);
	if (r < 0)
		return r;
	r = sbx_store_read(&store, used ? used->id : "", &stored, err);
	sbx_store_close(&store);
	if (r == 0)
		*ret = stored.set;
	return r;
}

int sbx_session_install(struct sbx_session *session, const struct sbx_install *how,
			struct sbx_library_set **ret, struct sbx_error *err)
{
	const struct sbx_lang *lang = how->language ? sbx_lang_find(how->language) : NULL;
	struct sbx_error lent;
	const char *folder;
	int r;

	err = err ? err : &lent;
	if (lang == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "there is no language '%.64s'",
				how->language ? how->language : "");
	if (sbx_strv_len((char *const *)how->requirements) == 0)
		return sbx_fail(err, SBX_E_INVALID, "no library is named");
	r = sbx_libraries_use(session, lang, how->requirements, how, &folder, err);
	if (r < 0 || ret == NULL)
		return r;
	return describe(session, lang, ret, err);
}
