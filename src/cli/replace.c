/* SPDX-License-Identifier: MIT */
#include "cli/replace.h"

#include "cli/files.h"
#include "cli/trouble.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINKS_MAX   40 /* as in the kernel */
#define BACKUPS_MAX 64

static int fail_errno(struct sbx_error *err, const char *what, const char *path)
{
	int r = cli_fail(err, SBX_E_SYSTEM, "cannot %s '%.300s': %s", what, path, strerror(errno));

	err->sys_errno = errno;
	return r;
}

/* The folder of path, with the slash; "" for the current one. */
static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* ---- reading ---- */

/* One link's target in place of its name. Says whether path was a link. */
static bool follow_link(char path[4096])
{
	char target[4096], joined[4096];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	size_t folder = folder_length(path);

	if (n <= 0)
		return false;
	target[n] = '\0';
	if (target[0] == '/')
		folder = 0;
	if (folder + (size_t)n >= sizeof(joined))
		return false;
	memcpy(joined, path, folder);
	memcpy(joined + folder, target, (size_t)n + 1);
	memcpy(path, joined, folder + (size_t)n + 1);
	return true;
}

static int resolve(const char *from, char path[4096], struct sbx_error *err)
{
	int links = 0;

	if (strlen(from) >= 4096 - 64 || from[0] == '\0')
		return cli_fail(err, SBX_E_INVALID, "'%.100s' is no usable path", from);
	strcpy(path, from);
	while (follow_link(path)) {
		if (++links > LINKS_MAX)
			return cli_fail(err, SBX_E_INVALID, "'%.300s' is a link without an end", from);
	}
	return 0;
}

static int read_regular(int fd, const char *path, struct replace_file *ret, struct sbx_error *err)
{
	if (fstat(fd, &ret->st) < 0)
		return fail_errno(err, "look at", path);
	if (!S_ISREG(ret->st.st_mode))
		return cli_fail(err, SBX_E_INVALID, "'%.300s' is no regular file", path);
	if (ret->st.st_size > (off_t)REPLACE_MAX)
		return cli_fail(err, SBX_E_LIMIT, "'%.300s' is larger than %zu MiB: not touched", path,
				REPLACE_MAX >> 20);
	return file_read(fd, path, REPLACE_MAX + 1, &ret->text.data, &ret->text.len, err);
}

static int read_nothing(struct replace_file *ret, struct sbx_error *err)
{
	ret->text = (struct text){calloc(1, 1), 0};
	return ret->text.data ? 0 : cli_fail(err, SBX_E_SYSTEM, "out of memory");
}

int replace_open(const char *path, struct replace_file *ret, struct sbx_error *err)
{
	int fd, r;

	*ret = (struct replace_file){0};
	r = resolve(path, ret->path, err);
	if (r < 0)
		return r;
	fd = open(ret->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hold us */
	if (fd < 0 && errno == ENOENT)
		return read_nothing(ret, err);
	if (fd < 0)
		return fail_errno(err, "read", ret->path);
	ret->exists = true;
	r = read_regular(fd, ret->path, ret, err);
	close(fd);
	return r;
}

void replace_close(struct replace_file *file)
{
	free(file->text.data);
	file->text = (struct text){0};
}

/* ---- writing ---- */

static int set_owner_and_mode(int fd, const struct stat *st, const char *path,
			      struct sbx_error *err)
{
	if ((st->st_uid != geteuid() || st->st_gid != getegid()) &&
	    fchown(fd, st->st_uid, st->st_gid) < 0)
		return fail_errno(err, "keep the owner of", path);
	if (fchmod(fd, st->st_mode & 07777) < 0)
		return fail_errno(err, "keep the mode of", path);
	return 0;
}

static int write_all(int fd, const struct text *text, const char *path, struct sbx_error *err)
{
	int r = file_write(fd, text->data, text->len);

	errno = -r;
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r < 0 ? fail_errno(err, "write", path) : 0;
}

/* Content, owner and mode of a file that was just made; removed again when that fails. */
static int fill(int fd, const char *path, const struct replace_file *file, const struct text *text,
		struct sbx_error *err)
{
	int r = file->exists ? set_owner_and_mode(fd, &file->st, file->path, err) : 0;

	if (r == 0)
		r = write_all(fd, text, path, err);
	if (close(fd) < 0 && r == 0)
		r = fail_errno(err, "write", path);
	if (r < 0)
		unlink(path);
	return r;
}

/* Two changes within a second get names of their own. */
static int create_backup(const char *path, char ret[4200])
{
	char stamp[32];
	time_t now = time(NULL);
	struct tm local;
	int fd = -1;

	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", localtime_r(&now, &local));
	for (int i = 1; fd < 0 && i < 100; i++) {
		char more[8] = "";

		if (i > 1)
			snprintf(more, sizeof(more), "-%d", i);
		snprintf(ret, 4200, "%s.bak-%s%s", path, stamp, more);
		fd = open(ret, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			return -1;
	}
	return fd;
}

int replace_backup(const struct replace_file *file, char ret[4200], struct sbx_error *err)
{
	int fd = create_backup(file->path, ret);

	if (fd < 0)
		return fail_errno(err, "make the backup", ret);
	return fill(fd, ret, file, &file->text, err);
}

static int make_folders(const char *path, struct sbx_error *err)
{
	char folder[4096];

	strcpy(folder, path);
	for (char *p = folder + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		if (mkdir(folder, 0777) < 0 && errno != EEXIST && access(folder, X_OK) < 0)
			return fail_errno(err, "make the folder", folder);
		*p = '/';
	}
	return 0;
}

/* Has somebody else written it since we read it? Editors and clients do. */
static bool has_changed(const struct replace_file *file)
{
	struct stat st;

	if (stat(file->path, &st) < 0)
		return file->exists;
	return !file->exists || st.st_ino != file->st.st_ino || st.st_size != file->st.st_size ||
	       st.st_mtim.tv_sec != file->st.st_mtim.tv_sec ||
	       st.st_mtim.tv_nsec != file->st.st_mtim.tv_nsec;
}

static void sync_folder(const char *path)
{
	char folder[4096];
	size_t len = folder_length(path);
	int fd;

	memcpy(folder, path, len);
	strcpy(folder + len, ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

/* mkostemp(3) makes 0600; a shared file gets what open(2) would have given. */
static void widen(const char *path)
{
	mode_t mask = umask(0);

	umask(mask);
	chmod(path, 0666 & ~mask);
}

static int put_in_place(const struct replace_file *file, const char *temporary,
			struct sbx_error *err)
{
	int r = 0;

	if (has_changed(file))
		r = cli_fail(err, SBX_E_UNAVAILABLE,
			     "'%.300s' was changed by somebody else just now; run this again",
			     file->path);
	else if (rename(temporary, file->path) < 0)
		r = fail_errno(err, "replace", file->path);
	if (r < 0)
		unlink(temporary);
	else
		sync_folder(file->path);
	return r;
}

int replace_commit(const struct replace_file *file, const struct text *text, bool is_private,
		   struct sbx_error *err)
{
	char temporary[4200];
	int fd, r;

	if (!file->exists && make_folders(file->path, err) < 0)
		return -(int)err->code;
	snprintf(temporary, sizeof(temporary), "%s.XXXXXX", file->path);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return fail_errno(err, "write beside", file->path);
	r = fill(fd, temporary, file, text, err);
	if (r < 0)
		return r;
	if (!file->exists && !is_private)
		widen(temporary);
	return put_in_place(file, temporary, err);
}

/* ---- backups ---- */

struct names {
	char *list[BACKUPS_MAX]; /* the newest, newest first */
	size_t count;
};

/* Names of one file's backups sort as their times do. */
static void insert(struct names *names, const char *name)
{
	size_t i = names->count;
	char *copy = strdup(name);

	if (copy == NULL)
		return;
	if (i == BACKUPS_MAX) {
		if (strcmp(copy, names->list[--i]) < 0) {
			free(copy);
			return;
		}
		free(names->list[i]);
	} else {
		names->count++;
	}
	for (; i > 0 && strcmp(names->list[i - 1], copy) < 0; i--)
		names->list[i] = names->list[i - 1];
	names->list[i] = copy;
}

static void list_backups(const char *path, struct names *ret)
{
	char folder[4096], prefix[300];
	size_t len = folder_length(path);
	const struct dirent *entry;
	DIR *dir;

	memcpy(folder, path, len);
	strcpy(folder + len, ".");
	snprintf(prefix, sizeof(prefix), "%.255s.bak-", path + len);
	dir = opendir(folder);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			insert(ret, entry->d_name);
	}
	if (dir != NULL)
		closedir(dir);
}

static bool read_name(const char *path, const char *name, struct text *ret)
{
	char backup[4400];
	struct replace_file file;
	struct sbx_error err;

	snprintf(backup, sizeof(backup), "%.*s%s", (int)folder_length(path), path, name);
	if (replace_open(backup, &file, &err) < 0 || !file.exists) {
		replace_close(&file);
		return false;
	}
	*ret = file.text;
	return true;
}

bool replace_read_backup(const struct replace_file *file, size_t n, struct text *ret)
{
	struct names names = {0};
	bool found;

	list_backups(file->path, &names);
	found = n < names.count && read_name(file->path, names.list[n], ret);
	for (size_t i = 0; i < names.count; i++)
		free(names.list[i]);
	return found;
}
