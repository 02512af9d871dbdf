/* SPDX-License-Identifier: MIT */
#include "agent/put.h"

#include "agent/paths.h"
#include "base/auto.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* ---- begin ---- */

/* Make the folders that path is in. */
static int make_parents(int base_fd, const char *path)
{
	auto_free char *folder = strdup(path);
	char *slash = folder ? strrchr(folder, '/') : NULL;
	int fd;

	if (folder == NULL)
		return -ENOMEM;
	if (slash == NULL)
		return 0;
	*slash = '\0';
	fd = sbx_beneath_make_folders(base_fd, folder, 0755);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* Told before the bytes are sent where it is sure already; the final word is the kernel's. */
static int look(const struct put *p)
{
	struct stat st;

	if (fstatat(p->file.folder_fd, p->file.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (p->how == WIRE_PUT_NEW)
		return -EEXIST;
	return S_ISDIR(st.st_mode) ? -EISDIR : 0;
}

static int open_new(struct put *p, int base_fd, const char *path, mode_t mode)
{
	int r = sbx_new_file_begin(&p->file, base_fd, path, mode);

	/* Mostly the folder is there. */
	if (r == -ENOENT)
		r = make_parents(base_fd, path);
	if (r == 0 && p->file.fd < 0)
		r = sbx_new_file_begin(&p->file, base_fd, path, mode);
	if (r == 0)
		r = look(p);
	if (r == 0 && fchmod(p->file.fd, mode) < 0)
		r = -errno;
	return r;
}

/* At the end of what is there; where nothing is, a new file that nobody made meanwhile. */
static int open_append(struct put *p, int base_fd, const char *path, mode_t mode)
{
	auto_close int fd = sbx_beneath_open_file(base_fd, path, O_WRONLY | O_APPEND);
	struct stat st;

	if (fd == -ENOENT) {
		p->how = WIRE_PUT_NEW;
		return open_new(p, base_fd, path, mode);
	}
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	p->file.fd = take_fd(fd);
	p->start = (uint64_t)st.st_size;
	return 0;
}

int put_begin(struct put *p, const struct wire_put *m, const struct agent_fence *fence)
{
	const char *rest;
	auto_close int base_fd = path_base(fence, m->path, &rest);

	*p = (struct put){
		.file = {.fd = -1, .folder_fd = -1},
		.how = (enum wire_put_how)m->how,
		.mtime_ns = m->mtime_ns,
		.path = strdup(m->path),
	};
	if (base_fd < 0)
		return base_fd;
	if (p->path == NULL)
		return -ENOMEM;
	if (rest[0] == '\0')
		return -EISDIR;
	if (m->how == WIRE_PUT_APPEND)
		return open_append(p, base_fd, rest, m->mode);
	return open_new(p, base_fd, rest, m->mode);
}

/* ---- bytes ---- */

int put_data(struct put *p, const void *data, size_t len)
{
	int r = sbx_write_all(p->file.fd, data, len);

	p->ends_in_hole = false;
	p->appended += r == 0 ? len : 0;
	return r;
}

int put_hole(struct put *p, uint64_t bytes)
{
	if (p->how == WIRE_PUT_APPEND || bytes > INT64_MAX)
		return -EINVAL;
	if (lseek(p->file.fd, (off_t)bytes, SEEK_CUR) < 0)
		return errno == EINVAL ? -EFBIG : -errno;
	p->ends_in_hole = true;
	return 0;
}

/* ---- the end ---- */

static int set_mtime(const struct put *p)
{
	struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = (time_t)(p->mtime_ns / 1000000000u),
		 .tv_nsec = (long)(p->mtime_ns % 1000000000u)},
	};

	return p->mtime_ns != 0 && futimens(p->file.fd, times) < 0 ? -errno : 0;
}

int put_finish(struct put *p)
{
	int r = 0;

	if (p->ends_in_hole && ftruncate(p->file.fd, lseek(p->file.fd, 0, SEEK_CUR)) < 0)
		r = -errno;
	if (r == 0)
		r = set_mtime(p);
	if (r == 0 && p->how != WIRE_PUT_APPEND)
		r = sbx_new_file_commit(&p->file, p->how == WIRE_PUT_REPLACE);
	if (r == 0)
		p->how = WIRE_PUT_COUNT;
	return r;
}

/* An append that came to nothing leaves the file as it was, unless somebody else wrote too. */
static void undo_append(const struct put *p)
{
	struct stat st;

	if (fstat(p->file.fd, &st) == 0 && (uint64_t)st.st_size == p->start + p->appended &&
	    ftruncate(p->file.fd, (off_t)p->start) < 0)
		return;
}

void put_done(struct put *p)
{
	if (p->how == WIRE_PUT_APPEND && p->file.fd >= 0)
		undo_append(p);
	sbx_new_file_done(&p->file);
	free(p->path);
	p->path = NULL;
}
