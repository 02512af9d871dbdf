/* SPDX-License-Identifier: MIT */
/* Files of a sandbox as a tar archive: the same that sbx_session_get() would give. */
#include <llmsandbox/files.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/error.h"
#include "base/io.h"
#include "base/libarchive.h"
#include "core/archive.h"
#include "core/cancel.h"
#include "core/session.h"
#include "core/transfer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

struct pack {
	struct sbx_meter meter;
	struct archive *archive;
	const char *from;
	char base[NAME_MAX + 1]; /* what the names in the archive are below */
	char path[PATH_MAX];	 /* of the present file, for messages */
	bool begun;
	uint64_t holes_left; /* zeros that may be written for holes */
	int fd;
	bool is_file;		 /* fd never makes us wait */
	struct sbx_error output; /* why it could not be written */
};

/* ---- the output ---- */

/* Wait until a pipe or socket takes a little, or the caller does not want to any more. */
static int wait_writable(struct pack *p, struct sbx_error *err)
{
	struct sbx_cancel *cancel = p->meter.how->cancel;
	struct pollfd fds[] = {
		{.fd = p->fd, .events = POLLOUT},
		{.fd = cancel ? cancel->eventfd : -1, .events = POLLIN},
	};

	while (fds[0].revents == 0) {
		if (sbx_copy_cancelled(cancel, err) < 0)
			return -(int)err->code;
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return sbx_fail_errno(err, errno, "cannot wait for the archive's reader");
	}
	return 0;
}

/* A pipe that is ready takes PIPE_BUF bytes without making us wait. */
static int write_some(struct pack *p, const void *data, size_t len, ssize_t *ret,
		      struct sbx_error *err)
{
	size_t most = p->is_file || len < PIPE_BUF ? len : PIPE_BUF;
	int r = 0;

	do {
		r = p->is_file ? 0 : wait_writable(p, err);
		*ret = r < 0 ? -1 : write(p->fd, data, most);
	} while (r == 0 && *ret < 0 && (errno == EINTR || errno == EAGAIN));
	if (r == 0 && *ret < 0)
		r = sbx_fail_errno(err, errno, "cannot write the archive");
	return r;
}

/*
 * libarchive never learns that it failed, because after a fatal error it does not release what
 * its output has: what comes after is thrown away, and check() tells.
 */
static la_ssize_t write_output(struct archive *a, void *owner, const void *data, size_t len)
{
	struct pack *p = owner;
	ssize_t n;

	(void)a;
	if (p->output.code != SBX_OK || write_some(p, data, len, &n, &p->output) < 0)
		return (la_ssize_t)len;
	return n;
}

/* What a call of libarchive came to. */
static int check(struct pack *p, la_ssize_t status, struct sbx_error *err)
{
	const char *text;

	if (p->output.code != SBX_OK) {
		*err = p->output;
		return -(int)err->code;
	}
	if (status >= ARCHIVE_WARN)
		return 0;
	text = archive_error_string(p->archive);
	return sbx_fail(err, SBX_E_INVALID, "cannot put '%s' into the archive: %s", p->path,
			text ? text : "unknown reason");
}

/* ---- what comes ---- */

/* What shrank meanwhile is filled up with zeros, because its header has told its size. */
static int end_entry(struct pack *p, struct sbx_error *err)
{
	return check(p, archive_write_finish_entry(p->archive), err);
}

static int begin_entry(struct pack *p, const struct wire_entry *e, struct sbx_error *err)
{
	bool is_folder = e->kind == WIRE_FOLDER;
	struct archive_entry *entry = archive_entry_new();
	char name[PATH_MAX + NAME_MAX + 2];
	int r;

	if (entry == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot archive '%s'", p->path);
	snprintf(name, sizeof(name), "%s%s%s", p->base, e->name[0] ? "/" : "", e->name);
	archive_entry_copy_pathname(entry, name);
	archive_entry_set_filetype(entry, is_folder ? AE_IFDIR : AE_IFREG);
	archive_entry_set_perm(entry, sbx_beneath_mode(e->mode, is_folder));
	archive_entry_set_size(entry, is_folder ? 0 : (la_int64_t)e->size);
	archive_entry_set_mtime(entry, (time_t)(e->mtime_ns / 1000000000u),
				(long)(e->mtime_ns % 1000000000u));
	r = archive_write_header(p->archive, entry);
	archive_entry_free(entry);
	return check(p, r, err);
}

static int on_entry(void *owner, const struct wire_entry *e, struct sbx_error *err)
{
	struct pack *p = owner;
	bool goes = e->kind == WIRE_FOLDER || e->kind == WIRE_FILE;
	int r = p->begun ? end_entry(p, err) : 0;

	if (r < 0)
		return r;
	snprintf(p->path, sizeof(p->path), "%s", e->name[0] ? e->name : p->from);
	if (!p->begun && !goes)
		return sbx_fail(err, SBX_E_INVALID, "'%s' is neither a file nor a folder", p->from);
	p->begun = true;
	if (!goes)
		return sbx_meter_leave_out(&p->meter, p->path, err);
	r = sbx_meter_entry(&p->meter, e->kind == WIRE_FOLDER, p->path, err);
	return r < 0 ? r : begin_entry(p, e, err);
}

static int write_bytes(struct pack *p, const void *data, size_t len, struct sbx_error *err)
{
	const char *at = data;

	while (len > 0) {
		la_ssize_t n = archive_write_data(p->archive, at, len);
		int r = check(p, n, err);

		if (r < 0)
			return r;
		if (n <= 0)
			return sbx_fail(err, SBX_E_INVALID, "'%s' does not fit its size", p->path);
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int on_data(void *owner, const void *data, size_t len, struct sbx_error *err)
{
	struct pack *p = owner;
	int r = sbx_meter_bytes(&p->meter, len, p->path, err);

	return r < 0 ? r : write_bytes(p, data, len, err);
}

/* An archive has no holes: they cost what they seem to be. */
static int on_hole(void *owner, uint64_t bytes, struct sbx_error *err)
{
	static const char zeros[65536];
	struct pack *p = owner;
	int r = sbx_meter_bytes(&p->meter, bytes, p->path, err);

	if (r == 0 && bytes > p->holes_left)
		r = sbx_fail(err, SBX_E_LIMIT,
			     "'%s' is mostly a hole, which an archive would fill with more zeros than the "
			     "sandbox has disk; copy it, or set a limit of bytes",
			     p->path);
	p->holes_left -= r == 0 ? bytes : 0;
	while (r == 0 && bytes > 0) {
		size_t n = bytes < sizeof(zeros) ? (size_t)bytes : sizeof(zeros);

		r = sbx_copy_cancelled(p->meter.how->cancel, err);
		if (r == 0)
			r = write_bytes(p, zeros, n, err);
		bytes -= n;
	}
	return r;
}

/* ---- the whole ---- */

/* The last component of the path; of the work folder, that of its own path. */
static void set_base(struct pack *p, const char *inside, const char *workdir)
{
	const char *path = inside[0] ? inside : workdir;
	const char *slash = strrchr(path, '/');

	path = slash ? slash + 1 : path;
	snprintf(p->base, sizeof(p->base), "%.255s", path[0] ? path : ".");
}

static int open_archive(struct pack *p, struct sbx_error *err)
{
	struct stat st;
	int r;

	if (fstat(p->fd, &st) < 0)
		return sbx_fail_errno(err, errno, "cannot write the archive");
	p->is_file = S_ISREG(st.st_mode);
	p->archive = archive_write_new();
	if (p->archive == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot write the archive");
	r = archive_write_set_format_pax_restricted(p->archive);
	if (r == ARCHIVE_OK)
		r = archive_write_set_bytes_in_last_block(p->archive, 1);
	if (r == ARCHIVE_OK)
		r = archive_write_open(p->archive, p, NULL, write_output, NULL);
	return check(p, r, err);
}

static int fetch(struct pack *p, struct sbx_session *session, char *inside, struct sbx_error *err)
{
	const struct sbx_sink sink = {on_entry, on_data, on_hole, p};

	return sbx_fetch_tree(session, inside, &sink, p->meter.how->cancel, err);
}

static int pack(struct pack *p, struct sbx_session *session, char *inside, struct sbx_error *err)
{
	int r = open_archive(p, err);

	if (r == 0)
		r = fetch(p, session, inside, err);
	if (r == 0 && p->begun)
		r = end_entry(p, err);
	if (r == 0)
		r = check(p, archive_write_close(p->archive), err);
	if (r < 0)
		p->output = *err; /* the end is not written either */
	archive_write_free(p->archive);
	return r;
}

int sbx_session_archive(struct sbx_session *session, const char *path, int fd,
			const struct sbx_copy *how, struct sbx_copy_report *ret_report,
			struct sbx_error *err)
{
	auto_free struct pack *p = calloc(1, sizeof(*p));
	struct sbx_locale locale;
	char inside[PATH_MAX];
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	if (p == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot archive '%s'", path);
	sbx_meter_init(&p->meter, how);
	p->from = path;
	p->fd = fd;
	p->holes_left = p->meter.how->most_bytes ? UINT64_MAX
						 : session->spec->limits[SBX_LIMIT_DISK_BYTES];
	r = sbx_libarchive_load(err);
	if (r == 0)
		r = sbx_inside_path(path, inside, err);
	if (r < 0)
		return r;
	set_base(p, inside, session->setup.workdir);
	sbx_locale_enter(&locale);
	r = pack(p, session, inside, err);
	sbx_locale_leave(&locale);
	if (ret_report != NULL && r == 0)
		*ret_report = p->meter.report;
	return r;
}
