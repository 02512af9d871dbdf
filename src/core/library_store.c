/* SPDX-License-Identifier: MIT */
#include "core/library_store.h"

#include "base/auto.h"
#include "base/io.h"
#include "base/sha256.h"
#include "base/strv.h"
#include "base/cache.h"
#include "core/library_files.h"
#include "core/image_store.h"
#include "core/library_json.h"
#include "core/library_lock.h"
#include "core/library_shelf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define FOLDER	    "libraries"
#define CAP_BYTES   (5ull << 30)
#define SETS_MAX    10000
#define INDEX_MAX   (8u << 20)
#define ORPHANS_MAX 64 /* that are looked at in one sweep */

/* ---- the folders ---- */

/* A folder of ours in the store; the mode is set whatever the umask. */
static int make_folder(int fd, const char *name, mode_t mode)
{
	struct stat st;

	if (mkdirat(fd, name, mode) == 0)
		return fchmodat(fd, name, mode, 0) < 0 ? -errno : 0;
	if (errno != EEXIST || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return sbx_cache_is_ours(&st) ? 0 : -EPERM;
}

static int open_folders(struct sbx_store *store)
{
	if (make_folder(store->fd, "index", 0700) < 0 || make_folder(store->fd, "new", 0700) < 0 ||
	    make_folder(store->fd, "sets", 0311) < 0)
		return -1;
	store->index_fd = openat(store->fd, "index", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return store->index_fd < 0 ? -1 : 0;
}

int sbx_store_open(struct sbx_store *ret, struct sbx_error *err)
{
	struct sbx_store store = {.fd = sbx_cache_open(FOLDER, true), .index_fd = -1};
	char cache[PATH_MAX];

	if (store.fd < 0 || open_folders(&store) < 0 || !sbx_cache_path(cache) ||
	    (size_t)snprintf(store.path, sizeof(store.path), "%s/" FOLDER, cache) >=
		    sizeof(store.path) - 128) {
		sbx_store_close(&store);
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"there is no cache folder for libraries that this user can write and "
				"others cannot; set XDG_CACHE_HOME to one");
	}
	*ret = store;
	return 0;
}

void sbx_store_close(struct sbx_store *store)
{
	if (store->fd >= 0)
		close(store->fd);
	if (store->index_fd >= 0)
		close(store->index_fd);
}

char *sbx_store_sets(void)
{
	struct sbx_error ignored;
	struct sbx_store store;
	char *path = NULL;

	if (sbx_store_open(&store, &ignored) < 0)
		return NULL;
	if (asprintf(&path, "%s/sets", store.path) < 0)
		path = NULL;
	sbx_store_close(&store);
	return path;
}

/* ---- names ---- */

void sbx_store_id(const char *language, const char *tool_chain, const char *const *requirements,
		  char ret[SBX_STORE_ID])
{
	struct sbx_sha256 hash = SBX_SHA256_INIT;
	char hex[SBX_SHA256_HEX];

	sbx_sha256_add(&hash, language, strlen(language) + 1);
	sbx_sha256_add(&hash, tool_chain, strlen(tool_chain) + 1);
	for (size_t i = 0; requirements[i] != NULL; i++)
		sbx_sha256_add(&hash, requirements[i], strlen(requirements[i]) + 1);
	sbx_sha256_hex(&hash, hex);
	snprintf(ret, SBX_STORE_ID, "%.16s", hex);
}

int sbx_store_new_name(char ret[SBX_STORE_NAME], struct sbx_error *err)
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return sbx_fail_errno(err, errno, "cannot make a random name");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* ID and name come from arguments and files: nothing but digits may become a path. */
static bool is_hex(const char *text, size_t len)
{
	return strlen(text) == len && strspn(text, "0123456789abcdef") == len;
}

static void remove_path(const struct sbx_store *store, const char *folder, const char *name)
{
	auto_free char *path = NULL;

	if (asprintf(&path, "%s/%s/%s", store->path, folder, name) < 0)
		path = NULL;
	else
		sbx_remove_tree(path);
}

/* ---- reading ---- */

static uint64_t last_use(const struct sbx_store *store, const char *id)
{
	struct stat st;
	char name[64];

	sbx_store_file_name(id, ".lock", name);
	return fstatat(store->index_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_mtime : 0;
}

static int not_found(const char *id, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_NOT_FOUND, "there is no set of libraries '%.64s'", id);
}

/* What an engine keeps is looked at where it is used. */
static bool has_files(const struct sbx_store *store, const struct sbx_stored *stored)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "sets/%.32s", stored->name);
	return sbx_set_is_elsewhere(stored->set) ||
	       (fstatat(store->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && sbx_cache_is_ours(&st));
}

int sbx_store_read(const struct sbx_store *store, const char *id, struct sbx_stored *ret,
		   struct sbx_error *err)
{
	auto_free char *text = NULL;
	char file[64];
	size_t len;

	if (!is_hex(id, SBX_STORE_ID - 1))
		return not_found(id, err);
	sbx_store_file_name(id, ".json", file);
	if (sbx_read_file(store->index_fd, file, INDEX_MAX, &text, &len, err) < 0 ||
	    !sbx_set_from_json(text, len, &ret->set, ret->name))
		return not_found(id, err);
	if (!is_hex(ret->name, SBX_STORE_NAME - 1) || !has_files(store, ret)) {
		sbx_library_set_free(ret->set);
		return not_found(id, err);
	}
	snprintf(ret->set->id, SBX_STORE_ID, "%s", id);
	ret->set->used = last_use(store, id);
	return 0;
}

/* The next "DIGITS.end" of the index, of as many digits as there is room for; or false. */
static bool next_digits(DIR *folder, const char *end, char *ret, size_t size)
{
	struct dirent *entry;

	while ((entry = readdir(folder)) != NULL) {
		if (strlen(entry->d_name) != size - 1 + strlen(end) ||
		    strcmp(entry->d_name + size - 1, end) != 0)
			continue;
		memcpy(ret, entry->d_name, size - 1);
		ret[size - 1] = '\0';
		if (is_hex(ret, size - 1))
			return true;
	}
	return false;
}

static bool next_id(DIR *folder, const char *end, char ret[SBX_STORE_ID])
{
	return next_digits(folder, end, ret, SBX_STORE_ID);
}

static DIR *open_list(int folder_fd, const char *name)
{
	int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;

	if (folder == NULL && fd >= 0)
		close(fd);
	return folder;
}

int sbx_store_list(const struct sbx_store *store, struct sbx_library_set ***ret, size_t *ret_count,
		   struct sbx_error *err)
{
	struct sbx_library_set **list = calloc(SETS_MAX, sizeof(*list));
	DIR *folder = open_list(store->fd, "index");
	char id[SBX_STORE_ID];
	size_t count = 0;

	while (folder != NULL && list != NULL && count < SETS_MAX && next_id(folder, ".json", id)) {
		struct sbx_stored stored;
		struct sbx_error ignored;

		if (sbx_store_read(store, id, &stored, &ignored) == 0)
			list[count++] = stored.set;
	}
	if (folder != NULL)
		closedir(folder);
	if (list == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot list the sets of libraries");
	*ret = list;
	*ret_count = count;
	return 0;
}

/* Compare a folder of this machine with what was noted of the set. */
static int compare(const struct sbx_store *store, const char *id, const char *path,
		   struct sbx_error *err)
{
	auto_free char *list = NULL;
	char name[64];
	size_t len;
	int r;

	sbx_store_file_name(id, ".files", name);
	r = sbx_read_file(store->index_fd, name, SBX_SET_LIST_MAX, &list, &len, err);
	if (r < 0)
		return sbx_wrap(err, "the list of files of the set '%s'", id);
	r = sbx_set_compare(path, list, len, err);
	return r < 0 ? sbx_wrap(err, "the set of libraries '%s' was changed", id) : 0;
}

/* A folder of an id that no set has, under its lock: who sweeps leaves it alone, unless we die. */
static int stage_copy(const struct sbx_store *store, char ret_id[SBX_STORE_ID], char **ret, int *ret_lock_fd,
		      struct sbx_error *err)
{
	const struct sbx_store_wait wait = {0};
	char name[SBX_STORE_NAME];
	int r = sbx_store_new_name(name, err);

	if (r < 0)
		return r;
	snprintf(ret_id, SBX_STORE_ID, "%.16s", name);
	r = sbx_store_lock(store, ret_id, true, &wait, ret_lock_fd, err);
	return r < 0 ? r : sbx_store_stage(store, ret_id, ret, err);
}

/* What an engine keeps is copied here, where sets are made, and is gone from there. */
static int verify_elsewhere(const struct sbx_store *store, const struct sbx_stored *stored,
			    struct sbx_error *err)
{
	auto_free char *staging = NULL, *path = NULL;
	auto_close int lock_fd = -1;
	char id[SBX_STORE_ID], lock[64];
	int r = stage_copy(store, id, &staging, &lock_fd, err);

	if (r == 0 && asprintf(&path, "%s/set", staging) < 0) {
		path = NULL;
		r = sbx_fail_errno(err, ENOMEM, "cannot name a set of libraries");
	}
	if (r == 0)
		r = sbx_shelf_get(stored->set, stored->name, path, err);
	if (r == 0)
		r = compare(store, stored->set->id, path, err);
	if (lock_fd >= 0) {
		sbx_store_unstage(store, id);
		sbx_store_file_name(id, ".lock", lock);
		unlinkat(store->index_fd, lock, 0);
	}
	return r;
}

int sbx_store_verify(const struct sbx_store *store, const char *id, struct sbx_error *err)
{
	auto_free char *path = NULL;
	struct sbx_stored stored;
	int r = sbx_store_read(store, id, &stored, err);

	if (r < 0)
		return r;
	if (sbx_set_is_elsewhere(stored.set))
		r = verify_elsewhere(store, &stored, err);
	else if (asprintf(&path, "%s/sets/%s", store->path, stored.name) < 0)
		path = NULL, r = sbx_fail_errno(err, ENOMEM, "cannot name a set of libraries");
	else
		r = compare(store, id, path, err);
	sbx_library_set_free(stored.set);
	return r;
}

/* ---- removing ---- */

/* Whoever still has the lock uses what is gone: it is nobody else's to wait for. */
static void forget(const struct sbx_store *store, const char *id)
{
	static const char *const ends[] = {".json", ".files", ".lock"};
	char name[64];

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		sbx_store_file_name(id, ends[i], name);
		unlinkat(store->index_fd, name, 0);
	}
}

static void forget_name(const struct sbx_store *store, const char *name)
{
	char file[64];

	snprintf(file, sizeof(file), "%.32s.name", name);
	unlinkat(store->index_fd, file, 0);
}

/*
 * Under the lock of the store. The folder goes first: a record without one is no set, and what
 * is in `new` is thrown away by the next who sweeps if we do not come to it. Of a set that an engine
 * keeps the name stays until its files are gone. *ret is what it was.
 */
static int retire(const struct sbx_store *store, const char *id, struct sbx_stored *ret,
		  struct sbx_error *err)
{
	char from[64], to[64];
	int r = sbx_store_read(store, id, ret, err);

	if (r < 0)
		return r;
	snprintf(from, sizeof(from), "sets/%s", ret->name);
	snprintf(to, sizeof(to), "new/%s", ret->name);
	if (!sbx_set_is_elsewhere(ret->set) && renameat(store->fd, from, store->fd, to) < 0) {
		sbx_library_set_free(ret->set);
		return sbx_fail_errno(err, errno, "cannot remove the set of libraries '%s'", id);
	}
	forget(store, id);
	if (!sbx_set_is_elsewhere(ret->set))
		forget_name(store, ret->name);
	return 0;
}

/* Outside the lock: it takes its time. */
static int remove_files(const struct sbx_store *store, const struct sbx_library_set *set,
			const char *name, struct sbx_error *err)
{
	int r = 0;

	if (!sbx_set_is_elsewhere(set)) {
		remove_path(store, "new", name);
		return 0;
	}
	r = sbx_shelf_remove(set, name, err);
	if (r == 0)
		forget_name(store, name);
	return r;
}

static int retire_locked(const struct sbx_store *store, const char *id, struct sbx_stored *ret,
			 struct sbx_error *err)
{
	auto_close int lock_fd = sbx_store_lock_all(store);

	return retire(store, id, ret, err);
}

/* The engine that keeps a set must be there before it is forgotten that there is one. */
static int check_engine(const struct sbx_store *store, const char *id, struct sbx_error *err)
{
	struct sbx_stored stored;
	int r = sbx_store_read(store, id, &stored, err);

	if (r < 0)
		return r;
	if (sbx_set_is_elsewhere(stored.set))
		r = sbx_shelf_check(stored.set, err);
	sbx_library_set_free(stored.set);
	return r;
}

int sbx_store_remove(const struct sbx_store *store, const char *id, struct sbx_error *err)
{
	struct sbx_stored stored;
	int r = check_engine(store, id, err);

	if (r == 0)
		r = retire_locked(store, id, &stored, err);
	if (r < 0)
		return r;
	r = remove_files(store, stored.set, stored.name, err);
	sbx_library_set_free(stored.set);
	return r < 0 ? sbx_wrap(err, "the set of libraries '%s' is removed, its files are not yet", id) : 0;
}

void sbx_store_forget(const struct sbx_store *store, const char *id, const char *name)
{
	auto_close int lock_fd = sbx_store_lock_all(store);
	struct sbx_stored stored;
	struct sbx_error ignored;

	if (sbx_store_read(store, id, &stored, &ignored) < 0)
		return;
	if (strcmp(stored.name, name) == 0) {
		forget(store, id);
		forget_name(store, name);
	}
	sbx_library_set_free(stored.set);
}

/* ---- making ---- */

void sbx_store_unstage(const struct sbx_store *store, const char *id)
{
	remove_path(store, "new", id);
}

static int write_file(int folder_fd, const char *name, const void *data, size_t len)
{
	auto_close int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : sbx_write_all(fd, data, len);
}

int sbx_store_stage(const struct sbx_store *store, const char *id, char **ret,
		    struct sbx_error *err)
{
	auto_free char *path = NULL;

	sbx_store_unstage(store, id);
	if (asprintf(&path, "%s/new/%s", store->path, id) < 0) {
		path = NULL;
		return sbx_fail_errno(err, ENOMEM, "cannot name a folder for libraries");
	}
	if (mkdir(path, 0700) < 0)
		return sbx_fail_errno(err, errno, "cannot make the folder '%s'", path);
	*ret = take_ptr(path);
	return 0;
}

/* A whole file or none. */
static int write_index(const struct sbx_store *store, const char *name, const void *data, size_t len,
		       struct sbx_error *err)
{
	char temporary[80];
	int r;

	snprintf(temporary, sizeof(temporary), ".new-%s", name);
	unlinkat(store->index_fd, temporary, 0);
	r = write_file(store->index_fd, temporary, data, len);
	if (r == 0 && renameat(store->index_fd, temporary, store->index_fd, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(store->index_fd, temporary, 0);
	return r < 0 ? sbx_fail_errno(err, -r, "cannot write '%s/index/%s'", store->path, name) : 0;
}

static int write_record(const struct sbx_store *store, const char *name,
			const struct sbx_library_set *set, struct sbx_error *err)
{
	auto_free char *text = sbx_set_to_json(set, name);
	char file[64];

	if (text == NULL)
		return sbx_fail(err, SBX_E_SYSTEM, "cannot describe a set of libraries");
	sbx_store_file_name(set->id, ".json", file);
	return write_index(store, file, text, strlen(text), err);
}

/* Before there is such a folder, so that one that is left of us is found. */
static int note_name(const struct sbx_store *store, const char *name,
		     const struct sbx_library_set *set, struct sbx_error *err)
{
	auto_buf struct sbx_buf note = SBX_BUF_INIT(INDEX_MAX);
	auto_free char *record = NULL;
	char file[64];

	snprintf(file, sizeof(file), "%.32s.name", name);
	if (!sbx_set_is_elsewhere(set))
		return write_index(store, file, "", 0, err);
	record = sbx_set_to_json(set, name);
	if (record != NULL)
		sbx_buf_printf(&note, "%s\n%s", set->id, record);
	if (record == NULL || note.failed)
		return sbx_fail(err, SBX_E_SYSTEM, "cannot describe a set of libraries");
	return write_index(store, file, note.data, note.len, err);
}

static int write_set(const struct sbx_store *store, const char *name,
		     const struct sbx_library_set *set, const struct sbx_buf *list,
		     struct sbx_error *err)
{
	char file[64];
	int r;

	sbx_store_file_name(set->id, ".files", file);
	r = write_index(store, file, list->data, list->len, err);
	return r < 0 ? r : write_record(store, name, set, err);
}

static int publish_here(const struct sbx_store *store, const char *from, const char *name,
			const struct sbx_library_set *set, const struct sbx_buf *list,
			struct sbx_error *err)
{
	auto_close int lock_fd = sbx_store_lock_all(store);
	auto_free char *to = NULL;
	int r;

	if (lock_fd < 0)
		return sbx_fail_errno(err, errno, "cannot lock the sets of libraries");
	if (asprintf(&to, "%s/sets/%s", store->path, name) < 0) {
		to = NULL;
		return sbx_fail_errno(err, ENOMEM, "cannot name a set of libraries");
	}
	r = note_name(store, name, set, err);
	if (r == 0 && rename(from, to) < 0)
		r = sbx_fail_errno(err, errno, "cannot make the folder '%s'", to);
	return r < 0 ? r : write_set(store, name, set, list, err);
}

/* It takes its time, so without the lock of the store: the set's own keeps the sweep from its name. */
static int publish_elsewhere(const struct sbx_store *store, const char *from, const char *name,
			     const struct sbx_library_set *set, const struct sbx_buf *list,
			     struct sbx_cancel *cancel, struct sbx_error *err)
{
	struct sbx_error ignored;
	int r = note_name(store, name, set, err);

	if (r < 0)
		return r;
	r = sbx_shelf_put(set, from, name, cancel, err);
	if (r == 0)
		r = write_set(store, name, set, list, err);
	if (r < 0)
		remove_files(store, set, name, &ignored);
	return r;
}

int sbx_store_publish(const struct sbx_store *store, const char *staging, const char *name,
		      struct sbx_library_set *set, struct sbx_cancel *cancel, struct sbx_error *err)
{
	auto_buf struct sbx_buf list = SBX_BUF_INIT(SBX_SET_LIST_MAX);
	auto_free char *from = NULL;
	int r;

	if (asprintf(&from, "%s/set", staging) < 0) {
		from = NULL;
		return sbx_fail_errno(err, ENOMEM, "cannot name a set of libraries");
	}
	r = sbx_set_seal(from, &list, &set->bytes, err);
	if (r < 0)
		return r;
	set->made = set->used = (uint64_t)time(NULL);
	if (sbx_set_is_elsewhere(set))
		return publish_elsewhere(store, from, name, set, &list, cancel, err);
	return publish_here(store, from, name, set, &list, err);
}

/* ---- sweeping ---- */

static uint64_t cap_bytes(void)
{
	static const char units[] = "KMGT";
	const char *text = secure_getenv("LLM_SANDBOX_LIBRARY_CACHE"), *unit;
	char *end;
	unsigned long long value;

	if (text == NULL || strchr("0123456789", text[0]) == NULL || text[0] == '\0')
		return CAP_BYTES;
	value = strtoull(text, &end, 10);
	unit = *end != '\0' ? strchr(units, *end) : NULL;
	return unit ? value << (10 * (unit - units + 1)) : value;
}

static int by_use(const void *a, const void *b)
{
	const struct sbx_library_set *const *x = a, *const *y = b;

	return (*x)->used < (*y)->used ? -1 : (*x)->used > (*y)->used;
}

/* A set that somebody uses stays. */
static bool evict(const struct sbx_store *store, const char *id)
{
	auto_close int set_fd = sbx_store_try_lock(store, id);
	struct sbx_error ignored;
	struct sbx_stored stored;

	if (set_fd < 0)
		return false;
	/* What cannot be removed now is, by its name, the next time. */
	if (retire_locked(store, id, &stored, &ignored) == 0) {
		remove_files(store, stored.set, stored.name, &ignored);
		sbx_library_set_free(stored.set);
	}
	return true;
}

/* Whether it is one that this sweep may touch. */
static bool is_in_reach(const struct sbx_library_set *set, const char *engine)
{
	return !sbx_set_is_elsewhere(set) || (engine != NULL && strcmp(set->engine, engine) == 0);
}

/* An image of the native backend is a folder that goes without our hearing of it. */
static bool is_of_no_use(const struct sbx_library_set *set)
{
	auto_free char *root = NULL;
	struct sbx_error err;

	if (sbx_set_is_elsewhere(set))
		return sbx_shelf_is_gone(set);
	return set->image[0] != '\0' && strncmp(set->image, "sha256:", 7) != 0 &&
	       sbx_image_find_root(set->image, &root, &err) < 0 && err.code == SBX_E_NOT_FOUND;
}

static void sweep_sets(const struct sbx_store *store, const char *engine)
{
	struct sbx_library_set **sets = NULL;
	struct sbx_error ignored;
	uint64_t total = 0, cap = cap_bytes();
	size_t count = 0;

	if (sbx_store_list(store, &sets, &count, &ignored) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		total += sets[i]->bytes;
	qsort(sets, count, sizeof(*sets), by_use);
	for (size_t i = 0; i < count; i++) {
		if (is_in_reach(sets[i], engine) && (total > cap || is_of_no_use(sets[i])) &&
		    evict(store, sets[i]->id))
			total -= sets[i]->bytes;
		sbx_library_set_free(sets[i]);
	}
	free(sets);
}

/* What has no lock holder is left of a builder that died; longer names are of retired sets. */
static void sweep_new(const struct sbx_store *store)
{
	DIR *folder = open_list(store->fd, "new");
	struct dirent *entry;

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		auto_close int lock_fd = -1;

		if (is_hex(entry->d_name, SBX_STORE_NAME - 1))
			remove_path(store, "new", entry->d_name);
		if (!is_hex(entry->d_name, SBX_STORE_ID - 1))
			continue;
		lock_fd = sbx_store_try_lock(store, entry->d_name);
		if (lock_fd >= 0)
			sbx_store_unstage(store, entry->d_name);
	}
	if (folder != NULL)
		closedir(folder);
}

/* Locks of sets that were never made. */
static void sweep_locks(const struct sbx_store *store)
{
	DIR *folder = open_list(store->fd, "index");
	char id[SBX_STORE_ID], name[64];

	while (folder != NULL && next_id(folder, ".lock", id)) {
		struct stat st;
		auto_close int lock_fd = -1;

		sbx_store_file_name(id, ".json", name);
		if (fstatat(store->index_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		lock_fd = sbx_store_try_lock(store, id);
		sbx_store_file_name(id, ".lock", name);
		if (lock_fd >= 0)
			unlinkat(store->index_fd, name, 0);
	}
	if (folder != NULL)
		closedir(folder);
}

/* The names of all sets that have a record, one after the other; the caller frees them. */
static char *list_names(const struct sbx_store *store, size_t *ret_count)
{
	char *names = calloc(SETS_MAX, SBX_STORE_NAME);
	DIR *folder = open_list(store->fd, "index");
	char id[SBX_STORE_ID];
	size_t count = 0;

	while (names != NULL && folder != NULL && count < SETS_MAX && next_id(folder, ".json", id)) {
		struct sbx_stored stored;
		struct sbx_error ignored;

		if (sbx_store_read(store, id, &stored, &ignored) < 0)
			continue;
		sbx_library_set_free(stored.set);
		memcpy(names + SBX_STORE_NAME * count++, stored.name, SBX_STORE_NAME);
	}
	if (folder != NULL)
		closedir(folder);
	*ret_count = count;
	return names;
}

static bool has_name(const char *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names + SBX_STORE_NAME * i, name) == 0)
			return true;
	}
	return false;
}

/* A folder that an engine was to keep: of no record, or of one that is on its way. */
struct orphan {
	struct sbx_library_set *set; /* owned */
	char name[SBX_STORE_NAME];
};

/* What was noted of this name: "ID", and a record in the next line. False: it is none of an engine's. */
static bool read_note(const struct sbx_store *store, const char *name, struct orphan *ret)
{
	auto_free char *text = NULL;
	struct sbx_error ignored;
	char file[64];
	size_t len;

	snprintf(file, sizeof(file), "%.32s.name", name);
	if (sbx_read_file(store->index_fd, file, INDEX_MAX, &text, &len, &ignored) < 0 ||
	    len < SBX_STORE_ID || text[SBX_STORE_ID - 1] != '\n' ||
	    !sbx_set_from_json(text + SBX_STORE_ID, len - SBX_STORE_ID, &ret->set, ret->name))
		return false;
	snprintf(ret->set->id, SBX_STORE_ID, "%s", text);
	if (is_hex(ret->set->id, SBX_STORE_ID - 1) && sbx_set_is_elsewhere(ret->set) &&
	    strcmp(name, ret->name) == 0)
		return true;
	sbx_library_set_free(ret->set);
	return false;
}

/* Whose lock nobody has is nobody's: who makes a set holds it from before the name to the record. */
static void sweep_elsewhere(const struct sbx_store *store, const struct orphan *orphan)
{
	const char *id = orphan->set->id;
	auto_close int lock_fd = sbx_store_try_lock(store, id);
	struct sbx_error ignored;
	struct sbx_stored stored = {.name = ""};

	if (lock_fd < 0)
		return;
	if (sbx_store_read(store, id, &stored, &ignored) == 0)
		sbx_library_set_free(stored.set);
	if (strcmp(stored.name, orphan->name) != 0)
		remove_files(store, orphan->set, orphan->name, &ignored);
}

static void retire_orphan(const struct sbx_store *store, const char *name)
{
	char from[64], to[64];

	snprintf(from, sizeof(from), "sets/%s", name);
	snprintf(to, sizeof(to), "new/%s", name);
	renameat(store->fd, from, store->fd, to);
	forget_name(store, name);
}

/*
 * Folders among the sets that no record names; under the lock, where none of this machine's is on its way.
 * Those that engines keep are listed: *ret_count of them, in reach.
 */
static void sweep_orphans_here(const struct sbx_store *store, const char *engine,
			       struct orphan ret[ORPHANS_MAX], size_t *ret_count)
{
	auto_close int lock_fd = sbx_store_lock_all(store);
	auto_free char *names = NULL;
	char name[SBX_STORE_NAME];
	DIR *folder;
	size_t count;

	names = list_names(store, &count);
	folder = lock_fd < 0 || names == NULL ? NULL : open_list(store->fd, "index");
	while (folder != NULL && count < SETS_MAX && next_digits(folder, ".name", name, sizeof(name))) {
		struct orphan *o = &ret[*ret_count];

		if (has_name(names, count, name) || *ret_count == ORPHANS_MAX)
			continue;
		if (!read_note(store, name, o))
			retire_orphan(store, name);
		else if (is_in_reach(o->set, engine))
			(*ret_count)++;
		else
			sbx_library_set_free(o->set);
	}
	if (folder != NULL)
		closedir(folder);
}

static void sweep_orphans(const struct sbx_store *store, const char *engine)
{
	struct orphan orphans[ORPHANS_MAX];
	size_t count = 0;

	sweep_orphans_here(store, engine, orphans, &count);
	for (size_t i = 0; i < count; i++) {
		sweep_elsewhere(store, &orphans[i]);
		sbx_library_set_free(orphans[i].set);
	}
}

void sbx_store_sweep(const struct sbx_store *store, const char *engine)
{
	sweep_locks(store);
	sweep_orphans(store, engine);
	sweep_new(store);
	sweep_sets(store, engine);
}
