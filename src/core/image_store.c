/* SPDX-License-Identifier: MIT */
#include "core/image_store.h"

#include "backend/image_env.h"
#include "base/auto.h"
#include "base/beneath.h"
#include "base/cache.h"
#include "base/io.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define RECORD_MAX (256u << 10)
#define TOOLS_MAX  32
#define ENV_MAX	   512
#define USE_TRIES  8
#define USED	   ".used-"

/* ---- the folder ---- */

int sbx_image_store_open(struct sbx_image_store *ret, struct sbx_error *err)
{
	struct sbx_image_store store = {.fd = -1};
	char cache[PATH_MAX];

	if (sbx_cache_path(cache) &&
	    snprintf(store.path, sizeof(store.path), "%s/images", cache) < PATH_MAX - 160)
		store.fd = sbx_cache_open("images", true);
	if (store.fd < 0)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"there is no cache folder for images that this user can write and others "
				"cannot; set XDG_CACHE_HOME to one");
	*ret = store;
	return 0;
}

void sbx_image_store_close(struct sbx_image_store *store)
{
	if (store->fd >= 0)
		close(store->fd);
}

uint64_t sbx_image_free_bytes(int fd)
{
	struct statvfs st;

	return fstatvfs(fd, &st) < 0 ? 0 : (uint64_t)st.f_bavail * st.f_frsize;
}

/* ---- names ---- */

int sbx_image_check_name(const char *name, struct sbx_error *err)
{
	size_t len = strlen(name);

	if (len > 0 && len <= 64 && strchr("._-", name[0]) == NULL &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == len)
		return 0;
	return sbx_fail(err, SBX_E_INVALID,
			"'%.80s' cannot be the name of an image: small letters and digits, and '.', '_' and "
			"'-' behind the first, 64 at most",
			name);
}

bool sbx_image_is_folder(const char *image)
{
	return image[0] == '/' || strcmp(image, ".") == 0 || strcmp(image, "..") == 0 ||
	       strncmp(image, "./", 2) == 0 || strncmp(image, "../", 3) == 0;
}

static int not_found(const char *name, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_NOT_FOUND,
			"there is no image '%.64s' for the native backend (an engine's needs --backend docker or "
			"podman); 'llm-sandbox image list' has those that there are, and 'image build' and "
			"'image import' make one",
			name);
}

static int find_folder(const char *image, char **ret, struct sbx_error *err)
{
	auto_free char *path = realpath(image, NULL);
	struct stat st, host;

	if (path == NULL || stat(path, &st) < 0)
		return sbx_fail(err, errno == ENOENT ? SBX_E_NOT_FOUND : SBX_E_INVALID,
				"cannot use the folder '%.200s' as an image: %s", image, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return sbx_fail(err, SBX_E_INVALID,
				"the image '%.200s' is no folder; 'llm-sandbox image import' makes an image "
				"of an archive",
				image);
	if (stat("/", &host) == 0 && host.st_ino == st.st_ino && host.st_dev == st.st_dev)
		return sbx_fail(err, SBX_E_INVALID,
				"the image '%.64s' is this machine's own root; without an image it is shown as "
				"much of it as is safe",
				image);
	*ret = take_ptr(path);
	return 0;
}

/* The root of one that is named, as a descriptor too. */
static int find_named(const char *image, char **ret, int *ret_fd, struct sbx_error *err)
{
	auto_close int fd = -1, root_fd = -1;
	char cache[PATH_MAX], path[128];
	struct sbx_error ignored;
	struct stat st;

	snprintf(path, sizeof(path), "%.64s/root", image);
	if (sbx_image_check_name(image, &ignored) == 0 && sbx_cache_path(cache))
		fd = sbx_cache_open("images", false);
	if (fd >= 0)
		root_fd = openat(fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (root_fd < 0 || fstat(root_fd, &st) < 0 || !sbx_cache_is_ours(&st))
		return not_found(image, err);
	if (asprintf(ret, "%s/images/%s", cache, path) < 0)
		return sbx_fail_errno(err, ENOMEM, "cannot name an image");
	*ret_fd = take_fd(root_fd);
	return 0;
}

/* The folder in /opt that the path begins with is shown as the image has it, with nothing made in it. */
bool sbx_image_has_room(const char *root, const char *inside)
{
	auto_close int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int top_fd = -1, fd = -1;
	char top[PATH_MAX];
	struct stat st;

	if (root_fd < 0)
		return false;
	snprintf(top, sizeof(top), "opt/%.*s", (int)strcspn(inside + strlen("/opt/"), "/"),
		 inside + strlen("/opt/"));
	top_fd = sbx_beneath_open(root_fd, top, O_PATH);
	if (top_fd < 0)
		return true;
	fd = sbx_beneath_open(root_fd, inside + 1, O_PATH);
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

int sbx_image_find_root(const char *image, char **ret, struct sbx_error *err)
{
	auto_close int fd = -1;

	return sbx_image_is_folder(image) ? find_folder(image, ret, err)
					  : find_named(image, ret, &fd, err);
}

static bool is_at(const char *path, int fd)
{
	struct stat there, ours;

	return stat(path, &there) == 0 && fstat(fd, &ours) == 0 && there.st_ino == ours.st_ino &&
	       there.st_dev == ours.st_dev;
}

/* While it is locked it may have been replaced by another, or be on its way out. */
static int use_named(const char *image, char **ret_root, int *ret_fd, struct sbx_error *err)
{
	for (int tries = 0; tries < USE_TRIES; tries++) {
		auto_free char *root = NULL;
		auto_close int fd = -1;
		int r = find_named(image, &root, &fd, err);

		if (r < 0)
			return r;
		if (flock(fd, LOCK_SH | LOCK_NB) < 0 || !is_at(root, fd))
			continue;
		*ret_root = take_ptr(root);
		*ret_fd = take_fd(fd);
		return 0;
	}
	return sbx_fail(err, SBX_E_UNAVAILABLE, "the image '%.64s' is being removed or replaced", image);
}

int sbx_image_use(const char *image, char **ret_root, int *ret_fd, struct sbx_error *err)
{
	*ret_fd = -1;
	return sbx_image_is_folder(image) ? find_folder(image, ret_root, err)
					  : use_named(image, ret_root, ret_fd, err);
}

/* ---- the record ---- */

struct sbx_image *sbx_image_new(const char *name, const char *where, const char *source)
{
	struct sbx_image *image = calloc(1, sizeof(*image));

	if (image == NULL)
		return NULL;
	image->name = strdup(name);
	image->where = strdup(where);
	image->source = strdup(source);
	if (image->name != NULL && image->where != NULL && image->source != NULL)
		return image;
	sbx_image_free(image);
	return NULL;
}

void sbx_image_free(struct sbx_image *image)
{
	if (image == NULL)
		return;
	for (size_t i = 0; i < image->tool_count; i++) {
		free(image->tools[i].language);
		free(image->tools[i].version);
	}
	free(image->tools);
	free(image->name);
	free(image->where);
	free(image->source);
	free(image->path);
	free(image);
}

static json_t *to_json(const struct sbx_image *image)
{
	json_t *tools = json_object();

	for (size_t i = 0; i < image->tool_count; i++)
		json_object_set_new(tools, image->tools[i].language, json_string(image->tools[i].version));
	return json_pack("{s:s, s:I, s:I, s:o}", "source", image->source, "bytes",
			 (json_int_t)image->bytes, "made", (json_int_t)image->made, "tools", tools);
}

static bool add_tools(struct sbx_image *image, json_t *tools)
{
	const char *language;
	json_t *version;

	image->tools = calloc(TOOLS_MAX, sizeof(*image->tools));
	json_object_foreach(tools, language, version) {
		struct sbx_image_tool *t = image->tools ? &image->tools[image->tool_count] : NULL;

		if (t == NULL || image->tool_count == TOOLS_MAX || !json_is_string(version))
			return false;
		image->tool_count++;
		t->language = strdup(language);
		t->version = strdup(json_string_value(version));
		if (t->language == NULL || t->version == NULL)
			return false;
	}
	return image->tools != NULL;
}

static struct sbx_image *from_json(const char *name, const json_t *record)
{
	const char *source = json_string_value(json_object_get(record, "source"));
	json_int_t bytes = json_integer_value(json_object_get(record, "bytes"));
	json_int_t made = json_integer_value(json_object_get(record, "made"));
	struct sbx_image *image = source ? sbx_image_new(name, "native", source) : NULL;

	if (image == NULL)
		return NULL;
	image->bytes = bytes < 0 ? 0 : (uint64_t)bytes;
	image->made = made < 0 ? 0 : (uint64_t)made;
	if (add_tools(image, json_object_get(record, "tools")))
		return image;
	sbx_image_free(image);
	return NULL;
}

/* The caller's, or NULL. */
static json_t *read_record(int images_fd, const char *name)
{
	auto_free char *text = NULL;
	struct sbx_error ignored;
	char path[128];
	size_t len;

	snprintf(path, sizeof(path), "%.64s/image.json", name);
	if (sbx_image_check_name(name, &ignored) < 0 ||
	    sbx_read_file(images_fd, path, RECORD_MAX, &text, &len, &ignored) < 0)
		return NULL;
	return json_loadb(text, len, 0, NULL);
}

int sbx_image_read(const struct sbx_image_store *store, const char *name, struct sbx_image **ret,
		   struct sbx_error *err)
{
	int r = sbx_image_check_name(name, err);
	json_t *record = r == 0 ? read_record(store->fd, name) : NULL;
	struct sbx_image *image = record ? from_json(name, record) : NULL;

	json_decref(record);
	if (image == NULL)
		return r < 0 ? r : not_found(name, err);
	if (asprintf(&image->path, "%s/%s/root", store->path, name) < 0) {
		image->path = NULL;
		sbx_image_free(image);
		return sbx_fail_errno(err, ENOMEM, "cannot describe an image");
	}
	*ret = image;
	return 0;
}

int sbx_image_find_env(const char *image, const char *environment, char ***ret,
		       struct sbx_error *err)
{
	auto_close int fd = sbx_image_is_folder(image) ? -1 : sbx_cache_open("images", false);
	json_t *record = fd >= 0 ? read_record(fd, image) : NULL;
	const json_t *env = json_object_get(record, "env");
	int r = 0;

	*ret = NULL;
	if (environment != NULL || json_array_size(env) > 0)
		r = sbx_image_env_make(env, environment, ret, err);
	json_decref(record);
	return r;
}

bool sbx_image_find_id(const char *image, char *ret, size_t size)
{
	auto_close int fd = sbx_image_is_folder(image) ? -1 : sbx_cache_open("images", false);
	struct sbx_error ignored;
	struct stat st;
	char path[128];

	snprintf(path, sizeof(path), "%.64s/image.json", image);
	if (fd < 0 || sbx_image_check_name(image, &ignored) < 0 ||
	    fstatat(fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	snprintf(ret, size, "native %.64s %llu %lld.%09ld", image, (unsigned long long)st.st_ino,
		 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	return true;
}

/* What is no text cannot be in the record, and is left out. */
static json_t *env_to_json(char *const *env)
{
	json_t *list = json_array();

	for (size_t i = 0; env != NULL && env[i] != NULL && i < ENV_MAX; i++)
		json_array_append_new(list, json_string(env[i]));
	return list;
}

static int write_record(int folder_fd, const struct sbx_image *image, char *const *env,
			struct sbx_error *err)
{
	auto_close int fd = openat(folder_fd, "image.json",
				   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	json_t *record = to_json(image);
	auto_free char *text = NULL;
	int r;

	json_object_set_new(record, "env", env_to_json(env));
	text = record ? json_dumps(record, JSON_COMPACT) : NULL;
	json_decref(record);
	if (text == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot describe an image");
	r = fd < 0 ? -errno : sbx_write_all(fd, text, strlen(text));
	return r < 0 ? sbx_fail_errno(err, -r, "cannot write the record of an image") : 0;
}

/* ---- coming and going ---- */

int sbx_image_lock(const struct sbx_image_store *store, const char *name, int *ret_fd,
		   struct sbx_error *err)
{
	auto_close int fd = -1;
	char path[96];

	snprintf(path, sizeof(path), ".lock-%.64s", name);
	fd = openat(store->fd, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot open the lock of the image '%s'", name);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"somebody else makes or removes the image '%s' just now; try again when that "
				"has ended",
				name);
	*ret_fd = take_fd(fd);
	return 0;
}

static void remove_folder(const struct sbx_image_store *store, const char *prefix, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s%s", store->path, prefix, name) < PATH_MAX)
		sbx_remove_tree(path);
}

/* Nobody uses the image in this folder, and nobody will while *ret_fd is open. */
static bool take_alone(const struct sbx_image_store *store, const char *folder, int *ret_fd)
{
	char path[NAME_MAX + 8];

	snprintf(path, sizeof(path), "%.*s/root", NAME_MAX, folder);
	*ret_fd = openat(store->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_fd < 0 || flock(*ret_fd, LOCK_EX | LOCK_NB) == 0;
}

/* Sandboxes that use what was replaced go on with it, until they end. */
static void sweep_used(const struct sbx_image_store *store)
{
	int fd = openat(store->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (folder == NULL && fd >= 0)
		close(fd);
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		auto_close int root_fd = -1;

		if (strncmp(entry->d_name, USED, strlen(USED)) == 0 &&
		    take_alone(store, entry->d_name, &root_fd))
			remove_folder(store, "", entry->d_name);
	}
	if (folder != NULL)
		closedir(folder);
}

/* What was put aside: thrown away, or kept for those who use it. */
static void drop_old(const struct sbx_image_store *store, const char *name)
{
	auto_close int fd = -1;
	char old[96], used[128];
	struct stat st;

	snprintf(old, sizeof(old), ".old-%.64s", name);
	if (take_alone(store, old, &fd)) {
		remove_folder(store, "", old);
		return;
	}
	snprintf(used, sizeof(used), USED "%.64s-%llu", name,
		 fstat(fd, &st) == 0 ? (unsigned long long)st.st_ino : 0);
	renameat(store->fd, old, store->fd, used);
}

void sbx_image_unstage(const struct sbx_image_store *store, const char *name)
{
	remove_folder(store, ".new-", name);
	drop_old(store, name);
	sweep_used(store);
}

static int make_folder(int fd, const char *path, mode_t mode, struct sbx_error *err)
{
	/* The mode whatever the umask. */
	if (mkdirat(fd, path, mode) < 0 || fchmodat(fd, path, mode, 0) < 0)
		return sbx_fail_errno(err, errno, "cannot make the folder '%s' among the images", path);
	return 0;
}

int sbx_image_stage(const struct sbx_image_store *store, const char *name, int *ret_root_fd,
		    struct sbx_error *err)
{
	char path[128];
	int r;

	sbx_image_unstage(store, name);
	snprintf(path, sizeof(path), ".new-%.64s", name);
	r = make_folder(store->fd, path, 0755, err);
	if (r < 0)
		return r;
	strcat(path, "/root");
	r = make_folder(store->fd, path, 0755, err);
	if (r < 0)
		return r;
	*ret_root_fd = openat(store->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_root_fd < 0 ? sbx_fail_errno(err, errno, "cannot open '%s'", path) : 0;
}

int sbx_image_publish(const struct sbx_image_store *store, const struct sbx_image *image,
		      char *const *env, struct sbx_error *err)
{
	auto_close int fd = -1;
	char new[96], old[96];
	int r;

	snprintf(new, sizeof(new), ".new-%.64s", image->name);
	snprintf(old, sizeof(old), ".old-%.64s", image->name);
	fd = openat(store->fd, new, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot open '%s'", new);
	r = write_record(fd, image, env, err);
	if (r < 0)
		return r;
	if (renameat(store->fd, image->name, store->fd, old) < 0 && errno != ENOENT)
		return sbx_fail_errno(err, errno, "cannot replace the image '%s'", image->name);
	if (renameat(store->fd, new, store->fd, image->name) < 0) {
		r = sbx_fail_errno(err, errno, "cannot keep the image '%s'", image->name);
		renameat(store->fd, old, store->fd, image->name);
	}
	return r;
}

int sbx_image_discard(const struct sbx_image_store *store, const char *name, struct sbx_error *err)
{
	auto_close int fd = -1;
	char old[96];

	snprintf(old, sizeof(old), ".old-%.64s", name);
	sbx_image_unstage(store, name);
	if (!take_alone(store, name, &fd))
		return sbx_fail(err, SBX_E_UNAVAILABLE,
				"a sandbox uses the image '%s'; end it, and then remove the image", name);
	if (renameat(store->fd, name, store->fd, old) < 0)
		return errno == ENOENT ? not_found(name, err)
				       : sbx_fail_errno(err, errno, "cannot remove the image '%s'", name);
	remove_folder(store, ".old-", name);
	return 0;
}
