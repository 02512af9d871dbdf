/* SPDX-License-Identifier: MIT */
#include "core/library_store.h"

#include "base/auto.h"
#include "base/io.h"
#include "base/sha256.h"
#include "base/strv.h"
#include "base/cache.h"
#include "core/library_files.h"
#include "core/library_json.h"
#include "core/library_lock.h"

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

int sbx_store_read(const struct sbx_store *store, const char *id, struct sbx_stored *ret,
		   struct sbx_error *err)
{
	auto_free char *text = NULL;
	char file[64], path[64];
	struct stat st;
	size_t len;

	if (!is_hex(id, SBX_STORE_ID - 1))
		return not_found(id, err);
	sbx_store_file_name(id, ".json", file);
	if (sbx_read_file(store->index_fd, file, INDEX_MAX, &text, &len, err) < 0 ||
	    !sbx_set_from_json(text, len, &ret->set, ret->name))
		return not_found(id, err);
	snprintf(path, sizeof(path), "sets/%.32s", ret->name);
	if (!is_hex(ret->name, SBX_STORE_NAME - 1) ||
	    fstatat(store->fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !sbx_cache_is_ours(&st)) {
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

int sbx_store_verify(const struct sbx_store *store, const char *id, struct sbx_error *err)
{
	auto_free char *list = NULL;
	auto_free char *path = NULL;
	struct sbx_stored stored;
	char name[64];
	size_t len;
	int r = sbx_store_read(store, id, &stored, err);

	if (r < 0)
		return r;
	sbx_library_set_free(stored.set);
	sbx_store_file_name(id, ".files", name);
	r = sbx_read_file(store->index_fd, name, SBX_SET_LIST_MAX, &list, &len, err);
	if (r < 0)
		return sbx_wrap(err, "the list of files of the set '%s'", id);
	if (asprintf(&path, "%s/sets/%s", store->path, stored.name) < 0) {
		path = NULL;
		return sbx_fail_errno(err, ENOMEM, "cannot name a set of libraries");
	}
	r = sbx_set_compare(path, list, len, err);
	return r < 0 ? sbx_wrap(err, "the set of libraries '%s' was changed", id) : 0;
}

/* ---- removing ---- */

static void remove_path(const struct sbx_store *store, const char *folder, const char *name)
{
	auto_free char *path = NULL;

	if (asprintf(&path, "%s/%s/%s", store->path, folder, name) < 0)
		path = NULL;
	else
		sbx_remove_tree(path);
}

static void forget(const struct sbx_store *store, const char *id)
{
	static const char *const ends[] = {".json", ".files"};
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
 * is in `new` is thrown away by the next who sweeps if we do not come to it.
 */
static int retire(const struct sbx_store *store, const char *id, char ret_name[SBX_STORE_NAME],
		  struct sbx_error *err)
{
	char from[64], to[64];
	struct sbx_stored stored;
	int r = sbx_store_read(store, id, &stored, err);

	if (r < 0)
		return r;
	sbx_library_set_free(stored.set);
	snprintf(from, sizeof(from), "sets/%s", stored.name);
	snprintf(to, sizeof(to), "new/%s", stored.name);
	if (renameat(store->fd, from, store->fd, to) < 0)
		return sbx_fail_errno(err, errno, "cannot remove the set of libraries '%s'", id);
	forget(store, id);
	forget_name(store, stored.name);
	memcpy(ret_name, stored.name, SBX_STORE_NAME);
	return 0;
}

int sbx_store_remove(const struct sbx_store *store, const char *id, struct sbx_error *err)
{
	int lock_fd = sbx_store_lock_all(store), r;
	char name[SBX_STORE_NAME];

	r = retire(store, id, name, err);
	if (lock_fd >= 0)
		close(lock_fd);
	if (r == 0)
		remove_path(store, "new", name);
	return r;
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

int sbx_store_publish(const struct sbx_store *store, const char *staging, const char *name,
		      struct sbx_library_set *set, struct sbx_error *err)
{
	auto_buf struct sbx_buf list = SBX_BUF_INIT(SBX_SET_LIST_MAX);
	auto_free char *from = NULL;
	auto_free char *to = NULL;
	auto_close int lock_fd = -1;
	char file[64];
	int r;

	if (asprintf(&from, "%s/set", staging) < 0)
		from = NULL;
	if (asprintf(&to, "%s/sets/%s", store->path, name) < 0)
		to = NULL;
	if (from == NULL || to == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot name a set of libraries");
	r = sbx_set_seal(from, &list, &set->bytes, err);
	if (r < 0)
		return r;
	set->made = set->used = (uint64_t)time(NULL);
	lock_fd = sbx_store_lock_all(store);
	if (lock_fd < 0)
		return sbx_fail_errno(err, errno, "cannot lock the sets of libraries");
	snprintf(file, sizeof(file), "%.32s.name", name);
	r = write_index(store, file, "", 0, err);
	if (r == 0 && rename(from, to) < 0)
		r = sbx_fail_errno(err, errno, "cannot make the folder '%s'", to);
	sbx_store_file_name(set->id, ".files", file);
	if (r == 0)
		r = write_index(store, file, list.data, list.len, err);
	return r < 0 ? r : write_record(store, name, set, err);
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
	auto_close int store_fd = set_fd < 0 ? -1 : sbx_store_lock_all(store);
	char folder[SBX_STORE_NAME], name[64];
	struct sbx_error ignored;

	if (set_fd < 0)
		return false;
	if (retire(store, id, folder, &ignored) == 0)
		remove_path(store, "new", folder);
	sbx_store_file_name(id, ".lock", name);
	unlinkat(store->index_fd, name, 0);
	return true;
}

static void sweep_sets(const struct sbx_store *store)
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
		if (total > cap && evict(store, sets[i]->id))
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

/* Folders among the sets that no record names; under the lock, where no set is on its way. */
static void sweep_orphans(const struct sbx_store *store)
{
	auto_close int lock_fd = sbx_store_lock_all(store);
	auto_free char *names = NULL;
	char name[SBX_STORE_NAME], from[64], to[64];
	DIR *folder;
	size_t count;

	names = list_names(store, &count);
	folder = lock_fd < 0 || names == NULL ? NULL : open_list(store->fd, "index");
	while (folder != NULL && count < SETS_MAX && next_digits(folder, ".name", name, sizeof(name))) {
		if (has_name(names, count, name))
			continue;
		snprintf(from, sizeof(from), "sets/%s", name);
		snprintf(to, sizeof(to), "new/%s", name);
		renameat(store->fd, from, store->fd, to);
		forget_name(store, name);
	}
	if (folder != NULL)
		closedir(folder);
}

void sbx_store_sweep(const struct sbx_store *store)
{
	sweep_locks(store);
	sweep_orphans(store);
	sweep_new(store);
	sweep_sets(store);
}
