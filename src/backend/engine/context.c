/* SPDX-License-Identifier: MIT */
#include "backend/engine/context.h"

#include "backend/engine/ignore.h"
#include "base/auto.h"
#include "base/io.h"
#include "base/libarchive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define IGNORE_FILE   ".dockerignore"
#define IGNORE_BYTES  (1u << 20)
#define FILE_BYTES    (1u << 20) /* of a Containerfile */
#define DEPTH_MAX     128

struct packing {
	struct archive *archive;
	struct engine_ignore ignore;
	const char *file;
	const char *foreign; /* where that is, when it is not in the folder; or NULL */
	char *ignored;	     /* the text of .dockerignore, or NULL */
};

static int fail(const char *path, struct sbx_error *err)
{
	return sbx_fail_errno(err, errno, "cannot read '%.256s' of the build's folder", path);
}

static int fail_archive(struct packing *p, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_SYSTEM, "cannot pack the build's folder: %.200s",
			archive_error_string(p->archive));
}

/* ---- one entry ---- */

static int write_head(struct packing *p, const char *path, const struct stat *st,
		      const char *link, struct sbx_error *err)
{
	struct archive_entry *entry = archive_entry_new();
	int r;

	if (entry == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot pack the build's folder");
	archive_entry_set_pathname(entry, path);
	archive_entry_set_mode(entry, st->st_mode);
	/* The same files make the same archive, which the engine's cache goes by. */
	archive_entry_set_mtime(entry, st->st_mtim.tv_sec, 0);
	archive_entry_set_size(entry, S_ISREG(st->st_mode) ? st->st_size : 0);
	if (link != NULL)
		archive_entry_set_symlink(entry, link);
	r = archive_write_header(p->archive, entry);
	archive_entry_free(entry);
	/* It warns of a name that no character set can be told of, and writes it as it is. */
	return r >= ARCHIVE_WARN ? 0 : fail_archive(p, err);
}

static int write_body(struct packing *p, int fd, const char *path, off_t size,
		      struct sbx_error *err)
{
	char data[65536];

	while (size > 0) {
		size_t want = (off_t)sizeof(data) < size ? sizeof(data) : (size_t)size;
		ssize_t n = read(fd, data, want);

		if (n < 0)
			return fail(path, err);
		if (n == 0)
			return sbx_fail(err, SBX_E_INVALID, "'%.256s' became smaller while it was read",
					path);
		if (archive_write_data(p->archive, data, (size_t)n) != n)
			return fail_archive(p, err);
		size -= n;
	}
	return 0;
}

static int pack_file(struct packing *p, int folder_fd, const char *name, const char *path,
		     struct sbx_error *err)
{
	auto_close int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(path, err);
	r = write_head(p, path, &st, NULL, err);
	return r < 0 ? r : write_body(p, fd, path, st.st_size, err);
}

static int pack_link(struct packing *p, int folder_fd, const char *name, const char *path,
		     const struct stat *st, struct sbx_error *err)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(folder_fd, name, target, sizeof(target) - 1);

	if (len < 0)
		return fail(path, err);
	target[len] = '\0';
	return write_head(p, path, st, target, err);
}

/* ---- folders ---- */

static int pack_folder(struct packing *p, int fd, const char *path, int depth, struct sbx_error *err);

static bool is_left_out(const struct packing *p, const char *path)
{
	return engine_ignore_has(&p->ignore, path) && strcmp(path, p->file) != 0 &&
	       strcmp(path, IGNORE_FILE) != 0;
}

static int pack_entry(struct packing *p, int folder_fd, const char *name, const char *path,
		      int depth, struct sbx_error *err)
{
	bool ours = p->foreign != NULL && (strcmp(path, IGNORE_FILE) == 0 || strcmp(path, p->file) == 0);
	bool out = ours || is_left_out(p, path);
	struct stat st;
	int fd, r = 0;

	if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(path, err);
	if (S_ISDIR(st.st_mode)) {
		bool may_hold_some = engine_ignore_has_exceptions(&p->ignore) ||
				     strncmp(p->file, path, strlen(path)) == 0;

		if (out && !may_hold_some)
			return 0;
		fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return fail(path, err);
		r = out ? 0 : write_head(p, path, &st, NULL, err);
		if (r == 0)
			return pack_folder(p, fd, path, depth + 1, err);
		close(fd);
		return r;
	}
	if (out)
		return 0;
	if (S_ISREG(st.st_mode))
		return pack_file(p, folder_fd, name, path, err);
	/* Sockets, FIFOs and devices are no part of an image. */
	return S_ISLNK(st.st_mode) ? pack_link(p, folder_fd, name, path, &st, err) : 0;
}

static int compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_entry(const struct dirent *e)
{
	return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

/* In the order of names, so that the archive is the same each time. Closes fd. */
static int pack_folder(struct packing *p, int fd, const char *path, int depth, struct sbx_error *err)
{
	auto_close int folder_fd = fd;
	struct dirent **entries = NULL;
	int count = depth < DEPTH_MAX ? scandirat(fd, ".", &entries, is_entry, compare) : 0, r = 0;

	if (depth >= DEPTH_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "'%.256s' is too deep in the build's folder", path);
	if (count < 0)
		return fail(path, err);
	for (int i = 0; i < count; i++) {
		char below[PATH_MAX];
		int len = snprintf(below, sizeof(below), "%s%s%s", path, path[0] ? "/" : "",
				   entries[i]->d_name);

		if (r == 0 && len >= (int)sizeof(below))
			r = sbx_fail(err, SBX_E_LIMIT, "a path below '%.256s' is too long", path);
		if (r == 0)
			r = pack_entry(p, folder_fd, entries[i]->d_name, below, depth, err);
		free(entries[i]);
	}
	free(entries);
	return r;
}

/* ---- the whole ---- */

static int read_ignore(const char *folder, struct packing *p, struct sbx_error *err)
{
	auto_free char *path = NULL;
	size_t len;

	if (asprintf(&path, "%s/" IGNORE_FILE, folder) < 0) {
		path = NULL;
		return sbx_fail_errno(err, ENOMEM, "cannot read .dockerignore");
	}
	if (access(path, F_OK) < 0)
		return 0;
	if (sbx_read_file(AT_FDCWD, path, IGNORE_BYTES, &p->ignored, &len, err) < 0)
		return -(int)err->code;
	return engine_ignore_parse(p->ignored, &p->ignore, err);
}

/* A file that is in the archive alone. */
static int pack_text(struct packing *p, const char *path, const char *text, struct sbx_error *err)
{
	const struct stat st = {.st_mode = S_IFREG | 0644, .st_size = (off_t)strlen(text)};
	int r = write_head(p, path, &st, NULL, err);

	if (r == 0 && archive_write_data(p->archive, text, strlen(text)) != (ssize_t)strlen(text))
		r = fail_archive(p, err);
	return r;
}

/* As the engines' own programs have it: the build sees it, and COPY does not. */
static int pack_foreign(struct packing *p, struct sbx_error *err)
{
	auto_free char *text = NULL, *ignored = NULL;
	size_t len;

	if (sbx_read_file(AT_FDCWD, p->foreign, FILE_BYTES, &text, &len, err) < 0)
		return -(int)err->code;
	if (asprintf(&ignored, "%s\n" IGNORE_FILE "\n%s\n", p->ignored ? p->ignored : "", p->file) < 0) {
		ignored = NULL;
		return sbx_fail_errno(err, ENOMEM, "cannot pack the build's folder");
	}
	if (pack_text(p, IGNORE_FILE, ignored, err) < 0)
		return -(int)err->code;
	return pack_text(p, p->file, text, err);
}

static int write_archive(struct packing *p, const char *folder, int out_fd, struct sbx_error *err)
{
	int fd, r;

	if (archive_write_set_format_pax_restricted(p->archive) != ARCHIVE_OK ||
	    archive_write_open_fd(p->archive, out_fd) != ARCHIVE_OK)
		return fail_archive(p, err);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail(folder, err);
	r = pack_folder(p, fd, "", 0, err);
	if (r == 0 && p->foreign != NULL)
		r = pack_foreign(p, err);
	if (r == 0 && archive_write_close(p->archive) != ARCHIVE_OK)
		r = fail_archive(p, err);
	return r;
}

static int open_nameless(void)
{
	const char *folder = getenv("TMPDIR");
	int fd = open(folder && folder[0] ? folder : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("context", MFD_CLOEXEC);
}

static int map(int fd, struct engine_context *ret, struct sbx_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return sbx_fail_errno(err, errno, "cannot pack the build's folder");
	ret->len = (size_t)st.st_size;
	ret->data = mmap(NULL, ret->len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (ret->data == MAP_FAILED) {
		ret->data = NULL;
		return sbx_fail_errno(err, errno, "cannot pack the build's folder");
	}
	return 0;
}

int engine_context_pack(const char *folder, const char *file, const char *foreign,
			struct engine_context *ret, struct sbx_error *err)
{
	auto_close int fd = open_nameless();
	struct packing p = {.file = file, .foreign = foreign};
	int r = sbx_libarchive_load(err);

	if (r < 0)
		return r;
	p.archive = archive_write_new();
	if (fd < 0 || p.archive == NULL)
		r = sbx_fail_errno(err, fd < 0 ? errno : ENOMEM, "cannot pack the build's folder");
	if (r == 0)
		r = read_ignore(folder, &p, err);
	if (r == 0)
		r = write_archive(&p, folder, fd, err);
	archive_write_free(p.archive);
	engine_ignore_done(&p.ignore);
	free(p.ignored);
	return r < 0 ? r : map(fd, ret, err);
}

void engine_context_done(struct engine_context *context)
{
	if (context->data != NULL)
		munmap(context->data, context->len);
	*context = (struct engine_context){0};
}
