/* SPDX-License-Identifier: MIT */
#include "core/support.h"

#include "base/auto.h"
#include "base/io.h"
#include "base/cache.h"
#include "core/transfer.h"
#include "lang/support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CACHE_FOLDER "support"
#define INSIDE	     "/opt/llm-sandbox/support"
#define PUT_FOLDER   ".llm-sandbox-support"

/* ---- a folder of this machine, to be shown ---- */

/* Make the folders that a file's path names, below fd. */
static int make_parents(int fd, const char *path)
{
	char folder[PATH_MAX];

	for (const char *slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		if (mkdirat(fd, folder, 0755) < 0 && errno != EEXIST)
			return -errno;
		if (fchmodat(fd, folder, 0755, 0) < 0)
			return -errno;
	}
	return 0;
}

static int write_file(int folder_fd, const struct sbx_embedded_file *file)
{
	auto_close int fd = -1;
	int r = make_parents(folder_fd, file->path);

	if (r < 0)
		return r;
	fd = openat(folder_fd, file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || fchmod(fd, 0644) < 0)
		return -errno;
	return sbx_write_all(fd, file->data, file->len);
}

static int write_files(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int r = fd < 0 || fchmod(fd, 0755) < 0 ? -errno : 0;

	for (const struct sbx_embedded_file *f = sbx_support_files; r == 0 && f->path != NULL; f++)
		r = write_file(fd, f);
	return r;
}

/* Under a name of its own first, so that the folder of the final name is whole. */
static void make_folder(int cache_fd, const char *cache)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/" CACHE_FOLDER "/new-XXXXXX", cache) >=
		    sizeof(path) ||
	    mkdtemp(path) == NULL)
		return;
	/* Who was faster made the same. */
	if (write_files(path) < 0 ||
	    renameat(cache_fd, strrchr(path, '/') + 1, cache_fd, sbx_support_version) < 0)
		sbx_remove_tree(path);
}

static bool has_folder(int cache_fd)
{
	struct stat st;

	return fstatat(cache_fd, sbx_support_version, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       sbx_cache_is_ours(&st);
}

/* The folder on this machine, made when it is missing; NULL where there is no place for it. */
static char *find_folder(void)
{
	auto_close int fd = sbx_cache_open(CACHE_FOLDER, true);
	char cache[PATH_MAX], *path = NULL;

	if (fd < 0 || !sbx_cache_path(cache))
		return NULL;
	if (!has_folder(fd))
		make_folder(fd, cache);
	if (!has_folder(fd) ||
	    asprintf(&path, "%s/" CACHE_FOLDER "/%s", cache, sbx_support_version) < 0)
		return NULL;
	return path;
}

void sbx_support_show(struct sbx_session *s, struct sbx_spec *copy)
{
	char *host;

	if (!copy->use_support || copy->mount_count == SBX_MOUNTS_MAX)
		return;
	host = find_folder();
	if (host == NULL)
		return;
	s->support = strdup(sbx_backend_shows_mounts(copy->backend) ? INSIDE : host);
	copy->mounts[copy->mount_count++] = (struct sbx_mount){
		.host = host,
		.inside = (char *)INSIDE,
		.as_is = true,
	};
}

void sbx_support_find(struct sbx_session *s)
{
	const char *folder = sbx_place_embedded(s->place);

	if (folder != NULL)
		s->support = strdup(folder);
}

/* ---- a folder of the sandbox ---- */

static int put_file(struct sbx_sender *sender, const char *folder,
		    const struct sbx_embedded_file *file, struct sbx_error *err)
{
	char path[PATH_MAX];
	struct wire_put put = {.mode = 0644, .how = WIRE_PUT_REPLACE, .size = file->len, .path = path};
	int r = sbx_inside_join(folder, file->path, path, err);

	if (r == 0)
		r = sbx_sender_file(sender, &put, err);
	if (r == 0)
		r = sbx_sender_data(sender, file->data, file->len, err);
	return r < 0 ? r : sbx_sender_end_file(sender, err);
}

static int put_files(struct sbx_session *s, const char *folder, struct sbx_error *err)
{
	struct sbx_sender sender;
	int r = sbx_sender_begin(&sender, s, NULL, err);

	if (r < 0)
		return r;
	for (const struct sbx_embedded_file *f = sbx_support_files; r == 0 && f->path != NULL; f++)
		r = put_file(&sender, folder, f, err);
	return sbx_sender_end(&sender, r, err);
}

/* Two that come at once put the same, and one of them keeps its name. */
static const char *keep(struct sbx_session *s, char *folder)
{
	char *none = NULL;

	if (!atomic_compare_exchange_strong(&s->support, &none, folder))
		free(folder);
	return s->support;
}

const char *sbx_support_folder(struct sbx_session *s, struct sbx_error *err)
{
	char *folder = NULL;

	if (s->support != NULL)
		return s->support;
	if (asprintf(&folder, "%s/" PUT_FOLDER, sbx_session_scratch(s)) < 0) {
		sbx_fail_errno(err, ENOMEM, "cannot name the folder for artifacts and kernels");
		return NULL;
	}
	if (put_files(s, folder, err) < 0) {
		free(folder);
		sbx_wrap(err, "cannot put into the sandbox what artifacts and kernels need");
		return NULL;
	}
	return keep(s, folder);
}

char *sbx_artifacts_folder(const struct sbx_session *s)
{
	char *folder = NULL;

	return asprintf(&folder, "%s/.llm-sandbox-artifacts", sbx_session_scratch(s)) < 0 ? NULL : folder;
}
