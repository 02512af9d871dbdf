/* SPDX-License-Identifier: MIT */
/*
 * An archive into a folder of a sandbox. The archive may come from anybody: of its entries only
 * files and folders whose names stay below the folder go in, as the agent's PUT and MKDIR, which
 * follow no link. What it unpacks to is bounded by the caller's limits and the sandbox's disk.
 */
#include <llmsandbox/files.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/libarchive.h"
#include "core/archive.h"
#include "core/session.h"
#include "core/transfer.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define READ_SIZE 65536u

struct unpack {
	struct sbx_sender sender;
	struct sbx_meter meter;
	struct archive *archive;
	int fd;
	bool is_file;
	struct sbx_error input; /* why it could not be read */
	char to[PATH_MAX];	/* inside */
	char name[PATH_MAX];	/* of the present entry, below `to` */
	char buffer[READ_SIZE];
};

/* ---- the input ---- */

/* The session goes on while we wait for whoever writes the archive. */
static int wait_readable(struct unpack *u, struct sbx_error *err)
{
	struct sbx_session *s = u->sender.session;
	struct sbx_wait wait = {
		.cancel = u->meter.how->cancel,
		.deadline_ns = s->ends_ns,
		.input_fd = u->fd,
		.wants_input = true,
	};
	int r = 0;

	while (r == 0 && !wait.input_ready) {
		r = sbx_copy_cancelled(wait.cancel, err);
		if (r == 0)
			r = sbx_session_check(s, err);
		if (r == 0)
			r = sbx_link_turn(&s->link, &wait, err);
		if (r == 0 && s->link.lost)
			r = sbx_session_fail_lost(s, err);
	}
	return r;
}

static la_ssize_t read_input(struct archive *a, void *owner, const void **ret)
{
	struct unpack *u = owner;
	ssize_t n = -1;
	int r;

	do {
		r = u->is_file ? 0 : wait_readable(u, &u->input);
		n = r < 0 ? -1 : read(u->fd, u->buffer, sizeof(u->buffer));
	} while (r == 0 && n < 0 && (errno == EINTR || errno == EAGAIN));
	*ret = u->buffer;
	if (n >= 0)
		return n;
	if (r == 0)
		sbx_fail_errno(&u->input, errno, "cannot read the archive");
	archive_set_error(a, EIO, "%s", u->input.msg);
	return -1;
}

/* A zip has its table at its end; in a file it can be looked up first. */
static la_int64_t seek_input(struct archive *a, void *owner, la_int64_t offset, int whence)
{
	struct unpack *u = owner;
	off_t at = lseek(u->fd, offset, whence);

	if (at >= 0)
		return at;
	archive_set_error(a, errno, "cannot seek in the archive");
	return ARCHIVE_FATAL;
}

static int archive_failure(struct unpack *u, struct sbx_error *err)
{
	const char *text = archive_error_string(u->archive);

	if (u->input.code != SBX_OK)
		*err = u->input;
	else
		sbx_fail(err, SBX_E_INVALID, "the archive cannot be read%s%s: %s",
			 u->name[0] ? ", at " : "", u->name, text ? text : "it is damaged");
	return -(int)err->code;
}

/* ---- names ---- */

/* The entry's name below the folder, without "." and empty parts: false when it leads out. */
static bool set_name(struct unpack *u, const char *raw)
{
	size_t at = 0;

	u->name[0] = '\0';
	if (raw == NULL || raw[0] == '/')
		return false;
	while (*raw != '\0') {
		size_t len = strcspn(raw, "/");

		if ((len == 2 && memcmp(raw, "..", 2) == 0) || len > NAME_MAX ||
		    at + 1 + len >= sizeof(u->name))
			return false;
		if (len > 0 && !(len == 1 && raw[0] == '.')) {
			if (at > 0)
				u->name[at++] = '/';
			memcpy(u->name + at, raw, len);
			at += len;
		}
		raw += len + (raw[len] == '/');
	}
	u->name[at] = '\0';
	return true;
}

/* ---- one entry ---- */

static int send_hole(struct unpack *u, uint64_t *at, la_int64_t up_to, struct sbx_error *err)
{
	uint64_t bytes = (uint64_t)up_to - *at;
	int r = sbx_meter_bytes(&u->meter, bytes, u->name, err);

	*at = (uint64_t)up_to;
	return r < 0 ? r : sbx_sender_hole(&u->sender, bytes, err);
}

/* The blocks of a file come in order, with gaps where it is sparse. */
static int send_blocks(struct unpack *u, la_int64_t size, struct sbx_error *err)
{
	uint64_t at = 0;
	int r = 0;

	for (;;) {
		const void *data;
		la_int64_t offset = 0;
		size_t len = 0;
		int status = archive_read_data_block(u->archive, &data, &len, &offset);

		if (status == ARCHIVE_EOF && offset > (la_int64_t)at && offset <= size)
			return send_hole(u, &at, offset, err);
		if (status == ARCHIVE_EOF)
			return 0;
		if (status < ARCHIVE_WARN)
			return archive_failure(u, err);
		if (offset < (la_int64_t)at)
			return sbx_fail(err, SBX_E_INVALID, "'%s' in the archive goes backwards",
					u->name);
		if (offset > (la_int64_t)at && len > 0)
			r = send_hole(u, &at, offset, err);
		if (r == 0)
			r = sbx_meter_bytes(&u->meter, len, u->name, err);
		if (r == 0)
			r = sbx_sender_data(&u->sender, data, len, err);
		if (r < 0)
			return r;
		at += len;
	}
}

static int send_file(struct unpack *u, struct archive_entry *e, const char *to,
		     struct sbx_error *err)
{
	la_int64_t size = archive_entry_size_is_set(e) ? archive_entry_size(e) : 0;
	struct wire_put put = {.mode = archive_entry_perm(e) & 0777, .path = (char *)to};
	int r;

	if (archive_entry_is_encrypted(e))
		return sbx_fail(err, SBX_E_INVALID, "'%s' in the archive is encrypted", u->name);
	if (archive_entry_mtime_is_set(e) && archive_entry_mtime(e) > 0)
		put.mtime_ns = (uint64_t)archive_entry_mtime(e) * 1000000000u +
			       (uint64_t)archive_entry_mtime_nsec(e);
	r = sbx_sender_file(&u->sender, &put, err);
	if (r == 0)
		r = send_blocks(u, size, err);
	return r < 0 ? r : sbx_sender_end_file(&u->sender, err);
}

static int send_entry(struct unpack *u, struct archive_entry *e, struct sbx_error *err)
{
	const char *raw = archive_entry_pathname(e);
	unsigned int type = archive_entry_filetype(e);
	bool is_folder = type == AE_IFDIR;
	char to[PATH_MAX];
	int r;

	if (!set_name(u, raw) || archive_entry_hardlink(e) != NULL ||
	    (type != AE_IFREG && !is_folder) || (u->name[0] == '\0' && !is_folder))
		return sbx_meter_leave_out(&u->meter, raw ? raw : "?", err);
	if (u->name[0] == '\0')
		return 0; /* the folder that all goes to */
	r = sbx_inside_join(u->to, u->name, to, err);
	if (r == 0)
		r = sbx_meter_entry(&u->meter, is_folder, u->name, err);
	if (r < 0)
		return r;
	if (!is_folder)
		return send_file(u, e, to, err);
	/* Files are put into it. */
	return sbx_sender_folder(&u->sender, to, (archive_entry_perm(e) & 0777) | 0700, err);
}

/* ---- the whole ---- */

static int open_archive(struct unpack *u, struct sbx_error *err)
{
	struct archive *a = u->archive = archive_read_new();
	struct stat st;

	if (a == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot read the archive");
	if (fstat(u->fd, &st) < 0)
		return sbx_fail_errno(err, errno, "cannot read the archive");
	u->is_file = S_ISREG(st.st_mode);
	/* No more formats than promised: each is a parser of hostile input. */
	archive_read_support_format_tar(a);
	archive_read_support_format_zip(a);
	archive_read_support_filter_gzip(a);
	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_zstd(a);
	archive_read_set_callback_data(a, u);
	archive_read_set_read_callback(a, read_input);
	if (u->is_file)
		archive_read_set_seek_callback(a, seek_input);
	return archive_read_open1(a) < ARCHIVE_WARN ? archive_failure(u, err) : 0;
}

static int send_entries(struct unpack *u, struct sbx_error *err)
{
	struct archive_entry *e;
	int status, r = sbx_sender_folder(&u->sender, u->to, 0755, err);

	while (r == 0 && (status = archive_read_next_header(u->archive, &e)) != ARCHIVE_EOF) {
		if (status < ARCHIVE_WARN)
			return archive_failure(u, err);
		r = send_entry(u, e, err);
	}
	return r;
}

int sbx_session_unpack(struct sbx_session *session, int fd, const char *path,
		       const struct sbx_copy *how, struct sbx_copy_report *ret_report,
		       struct sbx_error *err)
{
	auto_free struct unpack *u = calloc(1, sizeof(*u));
	struct sbx_locale locale;
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	if (u == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot read the archive");
	sbx_meter_init(&u->meter, how);
	u->fd = fd;
	r = sbx_libarchive_load(err);
	if (r == 0)
		r = sbx_inside_path(path, u->to, err);
	if (r == 0)
		r = sbx_sender_begin(&u->sender, session, u->meter.how->cancel, err);
	if (r < 0)
		return r;
	sbx_locale_enter(&locale);
	r = open_archive(u, err);
	if (r == 0)
		r = send_entries(u, err);
	archive_read_free(u->archive);
	sbx_locale_leave(&locale);
	r = sbx_sender_end(&u->sender, r, err);
	if (ret_report != NULL && r == 0)
		*ret_report = u->meter.report;
	return r;
}
