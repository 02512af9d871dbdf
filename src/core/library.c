/* SPDX-License-Identifier: MIT */
/* Sets of libraries: looked up, made, listed. */
#include <llmsandbox/library.h>

#include "backend/backend.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/strv.h"
#include "core/libraries.h"
#include "core/library_build.h"
#include "core/library_json.h"
#include "core/library_lock.h"
#include "core/library_set.h"
#include "core/library_store.h"
#include "core/toolchain.h"
#include "lang/requirement.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define REQUIREMENTS_MAX 64u

/* ---- requirements ---- */

static int check(const struct sbx_lang *lang, const char *requirement, struct sbx_error *err)
{
	const char *why = sbx_requirement_check(requirement);

	if (why == NULL)
		why = lang->install->check(requirement);
	if (why == NULL)
		return 0;
	return sbx_fail(err, SBX_E_INVALID, "'%.100s' cannot be a library of %s: it %s", requirement,
			lang->info.title, why);
}

static int find_language(const char *name, const struct sbx_lang **ret, struct sbx_error *err)
{
	*ret = name ? sbx_lang_find(name) : NULL;
	if (*ret == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "there is no language '%.64s'", name ? name : "");
	if ((*ret)->install == NULL)
		return sbx_fail(err, SBX_E_INVALID, "there are no libraries for %s", (*ret)->info.title);
	return 0;
}

int sbx_library_check(const char *language, const char *requirement, struct sbx_error *err)
{
	const struct sbx_lang *lang;
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	r = find_language(language, &lang, err);
	return r < 0 ? r : check(lang, requirement ? requirement : "", err);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted, each once. */
static void sort(char **list)
{
	size_t count = sbx_strv_len(list), kept = 0;

	qsort(list, count, sizeof(*list), compare);
	for (size_t i = 0; i < count; i++) {
		if (kept > 0 && strcmp(list[kept - 1], list[i]) == 0)
			free(list[i]);
		else
			list[kept++] = list[i];
	}
	list[kept] = NULL;
}

int sbx_requirements_join(const struct sbx_lang *lang, char *const *before,
			  const char *const *wanted, char ***ret, struct sbx_error *err)
{
	size_t old = sbx_strv_len(before), new = sbx_strv_len((char *const *)wanted);
	auto_strv char **list = NULL;
	int r = 0;

	if (new > REQUIREMENTS_MAX || old + new > 4 * REQUIREMENTS_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "more than %u libraries at once", REQUIREMENTS_MAX);
	list = calloc(old + new + 1, sizeof(*list));
	if (list == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot keep the names of libraries");
	for (size_t i = 0; i < old + new && r == 0; i++) {
		if (i >= old)
			r = check(lang, wanted[i - old], err);
		if (r == 0)
			list[i] = strdup(i < old ? before[i] : wanted[i - old]);
		if (r == 0 && list[i] == NULL)
			r = sbx_fail_errno(err, ENOMEM, "cannot keep the names of libraries");
	}
	if (r < 0)
		return r;
	sort(list);
	*ret = take_ptr(list);
	return 0;
}

/* ---- finding and making ---- */

/* What is looked for, and how. */
struct search {
	const struct sbx_set_request *request;
	struct sbx_store store;
	struct sbx_store_wait wait;
	char *version; /* or whatever else the tool chain is known by */
	char id[SBX_STORE_ID];
};

static int check_tool(const struct sbx_lang *lang, struct sbx_error *err)
{
	char path[PATH_MAX];
	struct stat st;

	if (sbx_toolchain_find(lang->install->tool, path, &st))
		return 0;
	return sbx_fail(err, SBX_E_NOT_FOUND,
			"libraries of %s are installed by '%s', which is not here; install it with: "
			"apt-get install %s",
			lang->info.title, lang->install->tool, lang->install->package);
}

static bool same_requirements(char *const *a, char *const *b)
{
	size_t i = 0;

	while (a[i] != NULL && b[i] != NULL && strcmp(a[i], b[i]) == 0)
		i++;
	return a[i] == NULL && b[i] == NULL;
}

/* The set under its shared lock, or SBX_E_NOT_FOUND. */
static int look_up(const struct search *s, struct sbx_lease *ret, struct sbx_error *err)
{
	auto_close int lock_fd = -1;
	struct sbx_stored stored;
	int r = sbx_store_lock(&s->store, s->id, false, &s->wait, &lock_fd, err);

	if (r == 0)
		r = sbx_store_read(&s->store, s->id, &stored, err);
	if (r < 0)
		return r;
	if (!same_requirements(stored.set->requirements, s->request->requirements)) {
		sbx_library_set_free(stored.set);
		return sbx_fail(err, SBX_E_NOT_FOUND, "the set of libraries '%s' is another", s->id);
	}
	sbx_store_touch(lock_fd);
	stored.set->used = (uint64_t)time(NULL);
	ret->set = stored.set;
	memcpy(ret->name, stored.name, sizeof(ret->name));
	ret->lock_fd = take_fd(lock_fd);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct sbx_package *)a)->name, ((const struct sbx_package *)b)->name);
}

/* What the installer listed, as a set that has no files yet. */
static struct sbx_library_set *describe(const struct search *s, const char *version,
					const struct sbx_lang_package *packages, size_t count)
{
	const struct sbx_tools *tools = s->request->tools;
	struct sbx_set_home home = {
		.image = tools ? tools->name : NULL,
		.backend = tools && tools->engine ? sbx_backend_name(tools->backend) : NULL,
		.engine = tools ? tools->engine : NULL,
	};
	struct sbx_library_set *set =
		sbx_set_new(s->request->lang->info.id, version, &home,
			    (const char *const *)s->request->requirements, count);

	if (set == NULL)
		return NULL;
	snprintf(set->id, SBX_STORE_ID, "%s", s->id);
	for (size_t i = 0; i < count; i++) {
		struct sbx_package *p = &set->packages[set->package_count++];

		p->name = strdup(packages[i].name);
		p->version = strdup(packages[i].version);
		p->hash = strdup(packages[i].hash);
		if (p->name == NULL || p->version == NULL || p->hash == NULL) {
			sbx_library_set_free(set);
			return NULL;
		}
	}
	qsort(set->packages, count, sizeof(*set->packages), by_name);
	return set;
}

static int build_into(const struct search *s, const char *staging, const char *name,
		      struct sbx_error *err)
{
	const struct sbx_set_request *request = s->request;
	auto_free char *final = NULL;
	auto_free char *to = NULL;
	struct sbx_library_set *set;
	struct sbx_build build = {
		.lang = request->lang,
		.tools = request->tools,
		.requirements = (const char *const *)request->requirements,
		.deadline_ns = s->wait.deadline_ns,
		.on_progress = s->wait.on_progress,
		.userdata = s->wait.userdata,
		.cancel = s->wait.cancel,
		.owner = request->owner,
	};
	struct sbx_built built = {0};
	int r;

	if (asprintf(&final, "%s/%s", request->folder ? request->folder : SBX_LIBRARIES_INSIDE, name) < 0)
		final = NULL;
	if (asprintf(&to, "%s/set", staging) < 0)
		to = NULL;
	if (final == NULL || to == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot name a set of libraries");
	build.final = final;
	r = sbx_library_build(&build, to, &built, err);
	if (r < 0)
		return r;
	set = describe(s, request->tools ? built.version : s->version, built.packages, built.package_count);
	free(built.packages);
	if (set == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot describe a set of libraries");
	r = sbx_store_publish(&s->store, staging, name, set, s->wait.cancel, err);
	sbx_library_set_free(set);
	return r;
}

/* Under the lock, alone: somebody else may just have made it. */
static int make_unless_there(const struct search *s, struct sbx_error *err)
{
	auto_close int lock_fd = -1;
	auto_free char *staging = NULL;
	char name[SBX_STORE_NAME];
	struct sbx_stored stored;
	int r = sbx_store_lock(&s->store, s->id, true, &s->wait, &lock_fd, err);

	if (r < 0)
		return r;
	if (sbx_store_read(&s->store, s->id, &stored, err) == 0) {
		sbx_library_set_free(stored.set);
		return 0;
	}
	r = sbx_store_new_name(name, err);
	if (r == 0)
		r = sbx_store_stage(&s->store, s->id, &staging, err);
	if (r == 0)
		r = build_into(s, staging, name, err);
	sbx_store_unstage(&s->store, s->id);
	return r;
}

static int make(const struct search *s, struct sbx_error *err)
{
	const struct sbx_lang *lang = s->request->lang;
	int r;

	if (s->request->how->offline)
		return sbx_fail(err, SBX_E_NOT_FOUND,
				"these libraries of %s are not installed, and nothing is installed "
				"offline",
				lang->info.title);
	/* Whether an image has the tool is seen in it. */
	r = s->request->tools != NULL ? 0 : check_tool(lang, err);
	return r < 0 ? r : make_unless_there(s, err);
}

static int find_or_make(const struct search *s, struct sbx_lease *ret, struct sbx_error *err)
{
	int r = look_up(s, ret, err);

	if (r == 0 || err->code != SBX_E_NOT_FOUND)
		return r;
	r = make(s, err);
	if (r == 0)
		r = look_up(s, ret, err);
	/* Also where nothing came of it: the lock is there, and somebody may go on asking. */
	sbx_store_sweep(&s->store, s->request->tools ? s->request->tools->engine : NULL);
	return r;
}

static int find_version(const struct sbx_set_request *request, char **ret, struct sbx_error *err)
{
	if (request->tools == NULL)
		return sbx_language_version(request->lang->info.id, ret, err);
	*ret = strdup(request->tools->key);
	return *ret ? 0 : sbx_fail_errno(err, ENOMEM, "cannot name a set of libraries");
}

int sbx_set_acquire(const struct sbx_set_request *request, struct sbx_lease *ret,
		    struct sbx_error *err)
{
	const struct sbx_install *how = request->how;
	struct search s = {
		.request = request,
		.wait = {
			.deadline_ns = sbx_deadline_ns(how->timeout_ms ? how->timeout_ms : SBX_INSTALL_MS),
			.cancel = how->cancel,
			.ended = request->owner ? &request->owner->ended : NULL,
			.on_progress = how->on_progress,
			.userdata = how->userdata,
		},
	};
	int r = find_version(request, &s.version, err);

	if (r < 0)
		return r;
	sbx_store_id(request->lang->info.id, s.version, (const char *const *)request->requirements, s.id);
	r = sbx_store_open(&s.store, err);
	if (r == 0) {
		r = find_or_make(&s, ret, err);
		sbx_store_close(&s.store);
	}
	free(s.version);
	return r;
}

/* ---- the public calls ---- */

static bool has_image(const struct sbx_spec *spec)
{
	return spec != NULL && (sbx_backend_has_own_tools(spec->backend) || spec->container.image != NULL);
}

/* Which image it is, and what of it programs see, a session of it says. */
static int add_for_image(const struct sbx_install *how, struct sbx_library_set **ret,
			 struct sbx_error *err)
{
	struct sbx_session *session;
	int r = sbx_session_open(how->spec, &session, err);

	if (r < 0)
		return r;
	r = sbx_session_install(session, how, ret, err);
	sbx_session_close(session);
	return r;
}

int sbx_library_add(const struct sbx_install *how, struct sbx_library_set **ret,
		    struct sbx_error *err)
{
	auto_strv char **requirements = NULL;
	struct sbx_set_request request = {.how = how};
	struct sbx_lease lease;
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	r = find_language(how->language, &request.lang, err);
	if (r == 0 && sbx_strv_len((char *const *)how->requirements) == 0)
		r = sbx_fail(err, SBX_E_INVALID, "no library is named, such as '%s'",
			     request.lang->install->example);
	if (r == 0)
		r = sbx_requirements_join(request.lang, NULL, how->requirements, &requirements, err);
	if (r < 0)
		return r;
	if (has_image(how->spec))
		return add_for_image(how, ret, err);
	request.requirements = requirements;
	r = sbx_set_acquire(&request, &lease, err);
	if (r < 0)
		return r;
	close(lease.lock_fd);
	if (ret != NULL)
		*ret = lease.set;
	else
		sbx_library_set_free(lease.set);
	return 0;
}

static int by_last_use(const void *a, const void *b)
{
	const struct sbx_library_set *const *x = a, *const *y = b;

	return (*x)->used > (*y)->used ? -1 : (*x)->used < (*y)->used;
}

int sbx_library_list(struct sbx_library_set ***ret, size_t *ret_count, struct sbx_error *err)
{
	struct sbx_store store;
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	r = sbx_store_open(&store, err);
	if (r < 0)
		return r;
	r = sbx_store_list(&store, ret, ret_count, err);
	sbx_store_close(&store);
	if (r == 0)
		qsort(*ret, *ret_count, sizeof(**ret), by_last_use);
	return r;
}

typedef int store_fn(const struct sbx_store *store, const char *id, struct sbx_error *err);

static int with_store(store_fn *call, const char *id, struct sbx_error *err)
{
	struct sbx_store store;
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	r = sbx_store_open(&store, err);
	if (r < 0)
		return r;
	r = call(&store, id, err);
	sbx_store_close(&store);
	return r;
}

int sbx_library_remove(const char *id, struct sbx_error *err)
{
	return with_store(sbx_store_remove, id, err);
}

int sbx_library_verify(const char *id, struct sbx_error *err)
{
	return with_store(sbx_store_verify, id, err);
}

int sbx_library_lock(const char *id, char **ret, struct sbx_error *err)
{
	auto_buf struct sbx_buf out = SBX_BUF_INIT(16u << 20);
	struct sbx_stored stored;
	struct sbx_store store;
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	r = sbx_store_open(&store, err);
	if (r < 0)
		return r;
	r = sbx_store_read(&store, id, &stored, err);
	sbx_store_close(&store);
	if (r < 0)
		return r;
	for (size_t i = 0; i < stored.set->package_count; i++) {
		const struct sbx_package *p = &stored.set->packages[i];

		sbx_buf_printf(&out, "%s %s%s%s\n", p->name, p->version, p->hash[0] ? " " : "", p->hash);
	}
	sbx_library_set_free(stored.set);
	*ret = sbx_buf_take(&out);
	return *ret ? 0 : sbx_fail_errno(err, ENOMEM, "cannot write a lock file");
}
