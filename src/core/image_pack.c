/* SPDX-License-Identifier: MIT */
#include "core/image_pack.h"

#include "core/archive.h"
#include "core/cancel.h"
#include "base/libarchive.h"

#include <errno.h>
#include <string.h>

struct pack {
	struct archive *disk, *tar;
	struct archive_entry *entry;
	size_t prefix; /* of the root's path */
	struct sbx_cancel *cancel;
};

static int failure(struct archive *a, struct sbx_error *err)
{
	const char *text = archive_error_string(a);

	return sbx_fail(err, archive_errno(a) == ENOSPC ? SBX_E_LIMIT : SBX_E_SYSTEM,
			"cannot pack the image: %.300s", text ? text : "no memory");
}

static int copy_data(struct pack *p, struct sbx_error *err)
{
	for (;;) {
		const void *data;
		size_t len;
		la_int64_t at;
		int status = archive_read_data_block(p->disk, &data, &len, &at);

		if (status == ARCHIVE_EOF)
			return 0;
		if (status < ARCHIVE_WARN)
			return failure(p->disk, err);
		if (sbx_cancel_is_killed(p->cancel))
			return sbx_fail(err, SBX_E_UNAVAILABLE, "the making of the image was cancelled");
		if (archive_write_data(p->tar, data, len) < 0)
			return failure(p->tar, err);
	}
}

/* Whose an entry is, by its name below the root. */
static void set_owner(struct pack *p, const char *name)
{
	bool is_users = strcmp(name, "sandbox") == 0 || strncmp(name, "sandbox/", 8) == 0 ||
			strcmp(name, "home/sandbox") == 0 || strncmp(name, "home/sandbox/", 13) == 0;

	archive_entry_set_uid(p->entry, is_users ? 1000 : 0);
	archive_entry_set_gid(p->entry, is_users ? 1000 : 0);
	archive_entry_set_uname(p->entry, NULL);
	archive_entry_set_gname(p->entry, NULL);
}

static int pack_entry(struct pack *p, struct sbx_error *err)
{
	const char *path = archive_entry_pathname(p->entry);
	char name[4096];

	path = path != NULL && strlen(path) > p->prefix ? path + p->prefix + 1 : "";
	if (path[0] == '\0' || strlen(path) >= sizeof(name))
		return 0;
	strcpy(name, path);
	archive_entry_set_pathname(p->entry, name);
	set_owner(p, name);
	/* Blocks are written one behind the other: holes are zeros. */
	archive_entry_sparse_clear(p->entry);
	if (archive_write_header(p->tar, p->entry) < ARCHIVE_WARN)
		return failure(p->tar, err);
	return archive_entry_filetype(p->entry) == AE_IFREG ? copy_data(p, err) : 0;
}

static int pack_entries(struct pack *p, struct sbx_error *err)
{
	int status, r = 0;

	while (r == 0 && (status = archive_read_next_header2(p->disk, p->entry)) != ARCHIVE_EOF) {
		if (status < ARCHIVE_WARN)
			return failure(p->disk, err);
		archive_read_disk_descend(p->disk);
		r = pack_entry(p, err);
		archive_entry_clear(p->entry);
	}
	return r;
}

static int add_folder(struct pack *p, const char *name, unsigned short mode, struct sbx_error *err)
{
	archive_entry_clear(p->entry);
	archive_entry_set_pathname(p->entry, name);
	archive_entry_set_filetype(p->entry, AE_IFDIR);
	archive_entry_set_perm(p->entry, mode);
	set_owner(p, name);
	return archive_write_header(p->tar, p->entry) < ARCHIVE_WARN ? failure(p->tar, err) : 0;
}

static int add_folders(struct pack *p, struct sbx_error *err)
{
	static const struct {
		const char *name;
		unsigned short mode;
	} folders[] = {{"proc", 0755}, {"sys", 0755}, {"dev", 0755}, {"run", 0755}, {"tmp", 01777}};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(folders) / sizeof(folders[0]); i++)
		r = add_folder(p, folders[i].name, folders[i].mode, err);
	return r;
}

static int open_both(struct pack *p, const char *root, int fd, struct sbx_error *err)
{
	p->disk = archive_read_disk_new();
	p->tar = archive_write_new();
	p->entry = archive_entry_new();
	if (p->disk == NULL || p->tar == NULL || p->entry == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot pack the image");
	archive_read_disk_set_symlink_physical(p->disk);
	archive_read_disk_set_behavior(p->disk, ARCHIVE_READDISK_NO_TRAVERSE_MOUNTS |
							ARCHIVE_READDISK_NO_XATTR |
							ARCHIVE_READDISK_NO_ACL | ARCHIVE_READDISK_NO_FFLAGS |
							ARCHIVE_READDISK_NO_SPARSE);
	archive_write_set_format_pax_restricted(p->tar);
	if (archive_write_open_fd(p->tar, fd) < ARCHIVE_WARN)
		return failure(p->tar, err);
	return archive_read_disk_open(p->disk, root) < ARCHIVE_WARN ? failure(p->disk, err) : 0;
}

int sbx_image_pack(const char *root, int fd, struct sbx_cancel *cancel, struct sbx_error *err)
{
	struct pack p = {.prefix = strlen(root), .cancel = cancel};
	struct sbx_locale locale;
	int r = sbx_libarchive_load(err);

	if (r < 0)
		return r;
	sbx_locale_enter(&locale);
	r = open_both(&p, root, fd, err);
	if (r == 0)
		r = add_folders(&p, err);
	if (r == 0)
		r = pack_entries(&p, err);
	if (r == 0 && archive_write_close(p.tar) < ARCHIVE_WARN)
		r = failure(p.tar, err);
	archive_entry_free(p.entry);
	archive_read_free(p.disk);
	archive_write_free(p.tar);
	sbx_locale_leave(&locale);
	return r;
}
