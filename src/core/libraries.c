/* SPDX-License-Identifier: MIT */
#include "core/libraries.h"

#include "backend/backend.h"
#include "base/auto.h"
#include "base/strv.h"
#include "core/library_set.h"
#include "core/library_store.h"
#include "core/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void sbx_libraries_init(struct sbx_libraries *libraries)
{
	*libraries = (struct sbx_libraries){0};
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

/* ---- sets in use ---- */

/* Under the lock. */
static const struct sbx_used_set *find(const struct sbx_libraries *libraries,
				       const struct sbx_lang *lang)
{
	for (size_t i = libraries->count; i > 0; i--) {
		if (libraries->used[i - 1].lang == lang)
			return &libraries->used[i - 1];
	}
	return NULL;
}

const char *sbx_libraries_folder(struct sbx_session *session, const struct sbx_lang *lang)
{
	struct sbx_libraries *libraries = &session->libraries;
	const struct sbx_used_set *used;
	const char *folder;

	pthread_mutex_lock(&libraries->lock);
	used = find(libraries, lang);
	folder = used ? used->folder : NULL;
	pthread_mutex_unlock(&libraries->lock);
	return folder;
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
				"cache folder that this user can write and others cannot, or there are too "
				"many mounts");
	if (session->libraries.count == SBX_USED_SETS_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "a session cannot use more than %u sets of libraries",
				SBX_USED_SETS_MAX);
	return 0;
}

/* Takes what the lease holds but its set. */
static int add(struct sbx_libraries *libraries, const struct sbx_lang *lang, char **requirements,
	       struct sbx_lease *lease, struct sbx_error *err)
{
	char *folder = NULL;

	if (libraries->used == NULL)
		libraries->used = calloc(SBX_USED_SETS_MAX, sizeof(*libraries->used));
	if (asprintf(&folder, "%s/%s", libraries->folder, lease->name) < 0)
		folder = NULL;
	if (libraries->used == NULL || folder == NULL) {
		free(folder);
		return sbx_fail_errno(err, ENOMEM, "cannot use a set of libraries");
	}
	libraries->used[libraries->count++] = (struct sbx_used_set){
		.lang = lang,
		.requirements = requirements,
		.folder = folder,
		.lock_fd = lease->lock_fd,
	};
	snprintf(libraries->used[libraries->count - 1].id, SBX_STORE_ID, "%s", lease->set->id);
	return 0;
}

/* Under the lock: the set of what was used before and what is wanted, in one. */
static int acquire(struct sbx_session *session, const struct sbx_lang *lang,
		   const char *const *wanted, const struct sbx_install *how, struct sbx_error *err)
{
	struct sbx_libraries *libraries = &session->libraries;
	const struct sbx_used_set *before = find(libraries, lang);
	struct sbx_set_request request = {
		.lang = lang,
		.backend = session->spec->backend,
		.folder = libraries->folder,
		.how = how,
	};
	struct sbx_lease lease;
	int r = check_session(session, lang, err);

	if (r == 0)
		r = sbx_requirements_join(lang, before ? before->requirements : NULL, wanted,
					  &request.requirements, err);
	if (r < 0)
		return r;
	r = sbx_set_acquire(&request, &lease, err);
	if (r == 0) {
		r = add(libraries, lang, request.requirements, &lease, err);
		sbx_library_set_free(lease.set);
		if (r < 0)
			close(lease.lock_fd);
	}
	if (r < 0)
		sbx_strv_free(request.requirements);
	return r;
}

int sbx_libraries_use(struct sbx_session *session, const struct sbx_lang *lang,
		      const char *const *wanted, const struct sbx_install *how, const char **ret,
		      struct sbx_error *err)
{
	static const struct sbx_install standard;
	struct sbx_libraries *libraries = &session->libraries;
	const struct sbx_used_set *used;
	int r = 0;

	pthread_mutex_lock(&libraries->lock);
	used = find(libraries, lang);
	if (wanted != NULL && wanted[0] != NULL && !has_all(used, wanted)) {
		r = acquire(session, lang, wanted, how ? how : &standard, err);
		used = find(libraries, lang);
	}
	if (r == 0)
		*ret = used ? used->folder : NULL;
	pthread_mutex_unlock(&libraries->lock);
	return r;
}

/* What the store has of the set that is used now. */
static int describe(struct sbx_session *session, const struct sbx_lang *lang,
		    struct sbx_library_set **ret, struct sbx_error *err)
{
	char id[SBX_STORE_ID] = "";
	const struct sbx_used_set *used;
	struct sbx_stored stored;
	struct sbx_store store;
	int r;

	pthread_mutex_lock(&session->libraries.lock);
	used = find(&session->libraries, lang);
	snprintf(id, sizeof(id), "%s", used ? used->id : "");
	pthread_mutex_unlock(&session->libraries.lock);
	r = sbx_store_open(&store, err);
	if (r < 0)
		return r;
	r = sbx_store_read(&store, id, &stored, err);
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
