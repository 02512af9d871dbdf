/* SPDX-License-Identifier: MIT */
#include "core/image_unpack.h"

#include "base/auto.h"
#include "base/beneath.h"
#include "base/io.h"
#include "base/libarchive.h"
#include "core/archive.h"
#include "core/cancel.h"
#include "core/image_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAX   2000000u
#define PATH_LONGEST 2048u /* so that the whole path is one that can be removed again */
#define DISK_LEFT   (256ull << 20)
#define DISK_LOOK   (32ull << 20) /* written between two looks at the disk */
#define READ_SIZE   65536u

struct unpack {
	const struct sbx_image_unpack *how;
	struct archive *archive;
	struct archive_entry *entry;
	sbx_image_input_fn *input;
	void *userdata;
	struct sbx_error input_error;
	size_t prefix; /* of a folder's path, before the names in it */
	struct sbx_image_report report;
	uint64_t unlooked; /* bytes since the last look at the disk */
	char name[PATH_LONGEST]; /* of the present entry, below the root */
	char buffer[READ_SIZE];
};

/* ---- limits ---- */

static int check_disk(struct unpack *u, uint64_t more, struct sbx_error *err)
{
	u->unlooked += more;
	if (u->unlooked < DISK_LOOK)
		return 0;
	u->unlooked = 0;
	if (sbx_image_free_bytes(u->how->root_fd) >= DISK_LEFT)
		return 0;
	return sbx_fail(err, SBX_E_LIMIT,
			"the disk that images are kept on has less than %llu MiB left; free some, or set "
			"XDG_CACHE_HOME to a folder of another",
			DISK_LEFT >> 20);
}

static int count_bytes(struct unpack *u, uint64_t bytes, struct sbx_error *err)
{
	if (bytes > u->how->most_bytes - u->report.bytes)
		return sbx_fail(err, SBX_E_LIMIT, "the image is larger than %llu bytes, at '%.200s'",
				(unsigned long long)u->how->most_bytes, u->name);
	u->report.bytes += bytes;
	return 0;
}

static int leave_out(struct unpack *u, const char *name)
{
	if (u->report.left_out++ == 0)
		snprintf(u->report.first_left_out, sizeof(u->report.first_left_out), "%.255s", name);
	return 0;
}

/* What hostile names and links lead to is left out; what the disk says ends it. */
static int cannot_make(struct unpack *u, int r, struct sbx_error *err)
{
	switch (-r) {
	case ELOOP:
	case ENOTDIR:
	case EISDIR:
	case EEXIST:
	case EINVAL:
	case ENOTEMPTY:
	case ENAMETOOLONG:
	case ENOENT:
	case EXDEV:
	case EMLINK:
		return leave_out(u, u->name);
	case ENOSPC:
	case EDQUOT:
		return sbx_fail(err, SBX_E_LIMIT, "the disk that images are kept on is full, at '%.200s'",
				u->name);
	default:
		return sbx_fail_errno(err, -r, "cannot make '%.200s' of the image", u->name);
	}
}

/* ---- names ---- */

/* The name below the root, without "." and empty parts; false when it leads out or is too long. */
static bool set_name(char ret[PATH_LONGEST], const char *raw)
{
	size_t at = 0;

	ret[0] = '\0';
	while (raw != NULL && *raw != '\0') {
		size_t len = strcspn(raw, "/");

		if ((len == 2 && memcmp(raw, "..", 2) == 0) || len > NAME_MAX ||
		    at + 2 + len >= PATH_LONGEST)
			return false;
		if (len > 0 && !(len == 1 && raw[0] == '.')) {
			if (at > 0)
				ret[at++] = '/';
			memcpy(ret + at, raw, len);
			at += len;
		}
		raw += len + (raw[len] == '/');
	}
	ret[at] = '\0';
	return raw != NULL;
}

/* The sandbox has these of its own; what an image has in them is nobody's. */
static bool is_kernels(const char *name)
{
	static const char *const folders[] = {"proc", "sys", "dev", "run", "tmp"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		size_t len = strlen(folders[i]);

		if (strncmp(name, folders[i], len) == 0 && (name[len] == '\0' || name[len] == '/'))
			return true;
	}
	return false;
}

/* With this mode, whatever our umask; to be opened again, because chmod() needs more than O_PATH. */
static int make_plain_folder(int root_fd, const char *name, mode_t mode)
{
	int r = sbx_beneath_make_folder(root_fd, name, 0700);
	auto_close int fd = r < 0 ? r : sbx_beneath_open(root_fd, name, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return fd;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

/* Open a folder, and make what is missing of it and of those that it is in. */
static int open_folders(int root_fd, char folder[PATH_LONGEST])
{
	int fd = sbx_beneath_open(root_fd, folder, O_PATH | O_DIRECTORY);

	for (char *end = folder; fd == -ENOENT && end != NULL;) {
		int r;

		end = strchr(end, '/');
		if (end != NULL)
			*end = '\0';
		r = sbx_beneath_open(root_fd, folder, O_PATH | O_DIRECTORY);
		if (r >= 0)
			close(r);
		else if (r == -ENOENT)
			r = make_plain_folder(root_fd, folder, 0755);
		if (r < 0)
			return r;
		if (end != NULL)
			*end++ = '/';
		else
			fd = sbx_beneath_open(root_fd, folder, O_PATH | O_DIRECTORY);
	}
	return fd;
}

/* Open the folder that the name is in, made when it is missing; *ret_base is the last part. */
static int open_parent(struct unpack *u, const char **ret_base)
{
	char folder[PATH_LONGEST];
	char *slash;

	memcpy(folder, u->name, sizeof(folder));
	slash = strrchr(folder, '/');
	*ret_base = slash ? u->name + (slash - folder) + 1 : u->name;
	*(slash ? slash : folder) = '\0';
	return open_folders(u->how->root_fd, folder);
}

/* ---- kinds ---- */

static int make_folder(struct unpack *u)
{
	const char *base;
	auto_close int parent_fd = open_parent(u, &base);

	if (parent_fd < 0)
		return parent_fd;
	return make_plain_folder(u->how->root_fd, u->name,
				 sbx_beneath_mode(archive_entry_perm(u->entry), true));
}

static int make_link(struct unpack *u)
{
	const char *to = archive_entry_symlink(u->entry), *base;
	auto_close int fd = open_parent(u, &base);

	if (fd < 0)
		return fd;
	if (to == NULL || to[0] == '\0')
		return -EINVAL;
	if (symlinkat(to, fd, base) == 0)
		return 0;
	if (errno != EEXIST || unlinkat(fd, base, 0) < 0)
		return -errno;
	return symlinkat(to, fd, base) < 0 ? -errno : 0;
}

/* A second name of a file that came before. */
static int make_hard_link(struct unpack *u)
{
	char to[PATH_LONGEST], path[64];
	const char *base;
	auto_close int folder_fd = open_parent(u, &base);
	auto_close int fd = -1;

	if (folder_fd < 0)
		return folder_fd;
	if (!set_name(to, archive_entry_hardlink(u->entry)))
		return -EINVAL;
	fd = sbx_beneath_open_file(u->how->root_fd, to, O_RDONLY);
	if (fd < 0)
		return fd;
	if (strcmp(to, u->name) == 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	unlinkat(folder_fd, base, 0);
	return linkat(AT_FDCWD, path, folder_fd, base, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int archive_failure(struct unpack *u, struct sbx_error *err)
{
	const char *text = archive_error_string(u->archive);

	if (u->input_error.code != SBX_OK)
		*err = u->input_error;
	else
		sbx_fail(err, SBX_E_INVALID, "the image cannot be read%s%.200s: %.200s",
			 u->name[0] ? ", at " : "", u->name, text ? text : "it is damaged");
	return -(int)err->code;
}

static int write_at(struct unpack *u, int fd, const char *data, size_t len, la_int64_t at,
		    struct sbx_error *err)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, data, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cannot_make(u, -errno, err);
		data += n;
		len -= (size_t)n;
		at += n;
	}
	return 0;
}

/* The blocks of a file may leave holes, and none lies behind its end. */
static int write_blocks(struct unpack *u, int fd, la_int64_t size, struct sbx_error *err)
{
	for (;;) {
		const void *data;
		la_int64_t at = 0;
		size_t len = 0;
		int status = archive_read_data_block(u->archive, &data, &len, &at), r;

		if (status == ARCHIVE_EOF)
			return 0;
		if (status < ARCHIVE_WARN)
			return archive_failure(u, err);
		if (at < 0 || at > size || (la_int64_t)len > size - at)
			return sbx_fail(err, SBX_E_INVALID, "'%.200s' of the image goes over its own end",
					u->name);
		r = sbx_cancel_is_killed(u->how->cancel)
			    ? sbx_fail(err, SBX_E_UNAVAILABLE, "the making of the image was cancelled")
			    : check_disk(u, len, err);
		if (r == 0)
			r = write_at(u, fd, data, len, at, err);
		if (r < 0)
			return r;
	}
}

/* Byte code is good for the very time of its source. */
static void set_time(struct unpack *u, int fd)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {0}};

	if (!archive_entry_mtime_is_set(u->entry) || archive_entry_mtime(u->entry) < 0)
		return;
	times[1].tv_sec = archive_entry_mtime(u->entry);
	times[1].tv_nsec = archive_entry_mtime_nsec(u->entry);
	futimens(fd, times);
}

static int fill_file(struct unpack *u, struct sbx_new_file *f, struct sbx_error *err)
{
	la_int64_t size = archive_entry_size_is_set(u->entry) ? archive_entry_size(u->entry) : 0;
	int r = size < 0 ? sbx_fail(err, SBX_E_INVALID, "'%.200s' of the image has no size", u->name)
			 : count_bytes(u, (uint64_t)size, err);

	if (r == 0)
		r = write_blocks(u, f->fd, size, err);
	if (r < 0)
		return r;
	if (ftruncate(f->fd, size) < 0 ||
	    fchmod(f->fd, sbx_beneath_mode(archive_entry_perm(u->entry), false)) < 0)
		return cannot_make(u, -errno, err);
	set_time(u, f->fd);
	r = sbx_new_file_commit(f, true);
	return r < 0 ? cannot_make(u, r, err) : 0;
}

static int make_file(struct unpack *u, struct sbx_error *err)
{
	struct sbx_new_file f = {.fd = -1, .folder_fd = -1};
	const char *base;
	auto_close int fd = open_parent(u, &base);
	int r = fd < 0 ? fd : sbx_new_file_begin(&f, u->how->root_fd, u->name, 0600);

	if (r < 0)
		return cannot_make(u, r, err);
	r = fill_file(u, &f, err);
	sbx_new_file_done(&f);
	return r;
}

/* ---- one entry ---- */

static int take_entry(struct unpack *u, struct sbx_error *err)
{
	const char *raw = archive_entry_pathname(u->entry);
	unsigned int type = archive_entry_filetype(u->entry);
	int r;

	if (raw == NULL || !set_name(u->name, raw + u->prefix))
		return leave_out(u, raw ? raw : "?");
	if (u->name[0] == '\0' || is_kernels(u->name))
		return 0;
	if (++u->report.files > FILES_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "the image has more than %u files", FILES_MAX);
	if (archive_entry_hardlink(u->entry) != NULL)
		r = make_hard_link(u);
	else if (type == AE_IFREG)
		return make_file(u, err);
	else if (type == AE_IFDIR)
		r = make_folder(u);
	else if (type == AE_IFLNK)
		r = make_link(u);
	else
		return leave_out(u, u->name);
	return r < 0 ? cannot_make(u, r, err) : 0;
}

/* A folder of this machine is entered where it is not the kernel's. */
static void descend(struct unpack *u)
{
	if (u->prefix > 0 && archive_entry_filetype(u->entry) == AE_IFDIR && !is_kernels(u->name))
		archive_read_disk_descend(u->archive);
}

static int take_entries(struct unpack *u, struct sbx_error *err)
{
	int status, r = 0;

	while (r == 0 && (status = archive_read_next_header2(u->archive, u->entry)) != ARCHIVE_EOF) {
		if (sbx_cancel_is_killed(u->how->cancel))
			return sbx_fail(err, SBX_E_UNAVAILABLE, "the making of the image was cancelled");
		if (status == ARCHIVE_FAILED && u->prefix > 0) {
			leave_out(u, archive_error_string(u->archive));
			continue;
		}
		if (status < ARCHIVE_WARN)
			return archive_failure(u, err);
		r = take_entry(u, err);
		if (r == 0)
			descend(u);
		archive_entry_clear(u->entry);
	}
	return r;
}

/* ---- the inputs ---- */

static la_ssize_t read_input(struct archive *a, void *owner, const void **ret)
{
	struct unpack *u = owner;
	ssize_t n = u->input(u->buffer, sizeof(u->buffer), u->userdata, &u->input_error);

	*ret = u->buffer;
	if (n < 0)
		archive_set_error(a, EIO, "%s", u->input_error.msg);
	return n;
}

static int open_tar(struct unpack *u, struct sbx_error *err)
{
	struct archive *a = u->archive = archive_read_new();

	if (a == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot read the archive");
	/* No more formats than promised: each is a parser of hostile input. */
	archive_read_support_format_tar(a);
	archive_read_support_filter_gzip(a);
	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_zstd(a);
	archive_read_set_callback_data(a, u);
	archive_read_set_read_callback(a, read_input);
	return archive_read_open1(a) < ARCHIVE_WARN ? archive_failure(u, err) : 0;
}

static int open_folder(struct unpack *u, const char *folder, struct sbx_error *err)
{
	struct archive *a = u->archive = archive_read_disk_new();

	if (a == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot read the folder");
	archive_read_disk_set_symlink_physical(a);
	archive_read_disk_set_behavior(a, ARCHIVE_READDISK_NO_TRAVERSE_MOUNTS |
						  ARCHIVE_READDISK_NO_XATTR | ARCHIVE_READDISK_NO_ACL |
						  ARCHIVE_READDISK_NO_FFLAGS);
	u->prefix = strlen(folder);
	return archive_read_disk_open(a, folder) < ARCHIVE_WARN ? archive_failure(u, err) : 0;
}

static int unpack(struct unpack *u, const char *folder, struct sbx_image_report *ret,
		  struct sbx_error *err)
{
	struct sbx_locale locale;
	int r = sbx_libarchive_load(err);

	if (r < 0)
		return r;
	u->entry = archive_entry_new();
	if (u->entry == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot read the image");
	u->unlooked = DISK_LOOK;
	sbx_locale_enter(&locale);
	r = folder ? open_folder(u, folder, err) : open_tar(u, err);
	if (r == 0)
		r = take_entries(u, err);
	archive_entry_free(u->entry);
	archive_read_free(u->archive);
	sbx_locale_leave(&locale);
	*ret = u->report;
	return r;
}

int sbx_image_unpack_tar(const struct sbx_image_unpack *how, sbx_image_input_fn *input, void *userdata,
			 struct sbx_image_report *ret, struct sbx_error *err)
{
	auto_free struct unpack *u = calloc(1, sizeof(*u));

	if (u == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot read the archive");
	u->how = how;
	u->input = input;
	u->userdata = userdata;
	return unpack(u, NULL, ret, err);
}

int sbx_image_unpack_folder(const struct sbx_image_unpack *how, const char *folder,
			    struct sbx_image_report *ret, struct sbx_error *err)
{
	auto_free struct unpack *u = calloc(1, sizeof(*u));

	if (u == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot read the folder");
	u->how = how;
	return unpack(u, folder, ret, err);
}

/* ---- the end ---- */

static bool has(int root_fd, const char *name)
{
	struct stat st;

	return fstatat(root_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode));
}

/* The sandbox shows its own over these files, and can make none. */
static int make_etc_file(int etc_fd, const char *name)
{
	auto_close int fd = -1;
	struct stat st;

	if (fstatat(etc_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		return 0;
	if (unlinkat(etc_fd, name, 0) < 0 && errno != ENOENT)
		return errno == EISDIR ? 0 : -errno;
	fd = openat(etc_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	return fd < 0 || fchmod(fd, 0644) < 0 ? -errno : 0;
}

int sbx_image_complete(int root_fd, struct sbx_error *err)
{
	static const char *const names[] = {"passwd",	"group",	 "hosts",
					    "hostname", "nsswitch.conf", "resolv.conf"};
	auto_close int etc_fd = sbx_beneath_open(root_fd, "etc", O_RDONLY | O_DIRECTORY);

	if (!has(root_fd, "usr") && !has(root_fd, "bin"))
		return sbx_fail(err, SBX_E_INVALID,
				"there is neither /usr nor /bin in it, so it is no root file system%s",
				has(root_fd, "blobs") ? "; it looks like what 'docker save' writes: use "
							"'docker export' of a container"
						      : "");
	for (size_t i = 0; etc_fd >= 0 && i < sizeof(names) / sizeof(names[0]); i++) {
		int r = make_etc_file(etc_fd, names[i]);

		if (r < 0)
			return sbx_fail_errno(err, -r, "cannot make '/etc/%s' of the image", names[i]);
	}
	return 0;
}
