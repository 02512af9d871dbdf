/* SPDX-License-Identifier: MIT */
/*
 * Files of this machine into a sandbox. What `from` names may be a link, because the caller wrote
 * it; below it links are left out, and nothing is waited for, so no FIFO holds a copy up.
 */
#include <llmsandbox/files.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/sparse.h"
#include "base/walk.h"
#include "core/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>


struct copy_in {
	struct sbx_sender sender;
	struct sbx_meter meter;
	const char *from;
	char to[PATH_MAX]; /* inside */
};

/* ---- one file ---- */

/* One piece of what is between *at and end; *at stays where the file has become shorter. */
static int send_data(struct copy_in *c, int fd, uint64_t *at, uint64_t end, const char *path,
		     struct sbx_error *err)
{
	struct stat st;
	size_t len = 0;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return sbx_fail_errno(err, errno, "cannot stat '%s'", path);
	end = (uint64_t)st.st_size < end ? (uint64_t)st.st_size : end;
	if (*at < end)
		r = sbx_sender_from_file(&c->sender, fd, *at, end - *at, &len, err);
	*at += len;
	return r < 0 ? r : sbx_meter_bytes(&c->meter, len, path, err);
}

static int send_hole(struct copy_in *c, uint64_t bytes, const char *path, struct sbx_error *err)
{
	int r = sbx_meter_bytes(&c->meter, bytes, path, err);

	return r < 0 ? r : sbx_sender_hole(&c->sender, bytes, err);
}

/* Until `size`; a file that became shorter meanwhile ends where it does. */
static int send_bytes(struct copy_in *c, int fd, uint64_t size, const char *path,
		      struct sbx_error *err)
{
	uint64_t at = 0, data_end = 0;
	int r = 0;

	while (r == 0 && at < size) {
		struct sbx_extent extent;

		if (at < data_end) {
			uint64_t before = at;

			r = send_data(c, fd, &at, data_end, path, err);
			if (at == before)
				break;
			continue;
		}
		extent = sbx_next_extent(fd, at, size);
		data_end = extent.data_end;
		if (extent.hole > 0)
			r = send_hole(c, extent.hole, path, err);
		else if (data_end == at)
			break;
		at += extent.hole;
	}
	return r;
}

static uint64_t mtime_of(const struct stat *st)
{
	if (st->st_mtim.tv_sec < 0)
		return 0;
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static int send_file(struct copy_in *c, int fd, const struct stat *st, const char *below,
		     struct sbx_error *err)
{
	const char *path = below[0] ? below : c->from;
	char to[PATH_MAX];
	struct wire_put put = {.mode = st->st_mode & 0777, .mtime_ns = mtime_of(st), .path = to};
	int r = sbx_inside_join(c->to, below, to, err);

	if (r == 0)
		r = sbx_meter_entry(&c->meter, false, path, err);
	if (r == 0)
		r = sbx_sender_file(&c->sender, &put, err);
	if (r == 0)
		r = send_bytes(c, fd, (uint64_t)st->st_size, path, err);
	return r < 0 ? r : sbx_sender_end_file(&c->sender, err);
}

/* ---- a tree ---- */

static int send_folder(struct copy_in *c, const struct stat *st, const char *below,
		       struct sbx_error *err)
{
	char to[PATH_MAX];
	int r = sbx_inside_join(c->to, below, to, err);

	if (r == 0)
		r = sbx_meter_entry(&c->meter, true, below[0] ? below : c->from, err);
	/* Files are put into it. */
	return r < 0 ? r : sbx_sender_folder(&c->sender, to, (st->st_mode & 0777) | 0700, err);
}

/* The walk saw a regular file; what is there now may be something else. */
static int send_entry_file(struct copy_in *c, struct sbx_walk *walk, struct sbx_error *err)
{
	auto_close int fd = sbx_walk_open(walk);
	struct stat st;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0 && fd != -ELOOP)
		return sbx_fail_errno(err, -fd, "cannot open '%s' in '%s'", walk->path, c->from);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return sbx_meter_leave_out(&c->meter, walk->path, err);
	return send_file(c, fd, &st, walk->path, err);
}

static int send_entry(struct copy_in *c, struct sbx_walk *walk, const struct stat *st, bool closed,
		      struct sbx_error *err)
{
	if (closed)
		return sbx_fail_errno(err, EACCES, "cannot open the folder '%s' in '%s'", walk->path,
				      c->from);
	if (S_ISDIR(st->st_mode))
		return send_folder(c, st, walk->path, err);
	if (S_ISREG(st->st_mode))
		return send_entry_file(c, walk, err);
	return sbx_meter_leave_out(&c->meter, walk->path, err);
}

static int send_tree(struct copy_in *c, int fd, const struct stat *st, struct sbx_error *err)
{
	struct sbx_walk walk;
	struct stat entry;
	bool closed;
	int more = sbx_walk_begin(&walk, fd, true), r;

	if (more < 0)
		return sbx_fail_errno(err, -more, "cannot read the folder '%s'", c->from);
	r = send_folder(c, st, "", err);
	while (r == 0 && (more = sbx_walk_next(&walk, &entry, &closed)) > 0)
		r = send_entry(c, &walk, &entry, closed, err);
	if (r == 0 && more < 0)
		r = sbx_fail(err, SBX_E_LIMIT, "the folder '%s' is deeper than a path can be long",
			     c->from);
	sbx_walk_done(&walk);
	return r;
}

/* ---- the whole ---- */

static int send_all(struct copy_in *c, int fd, const struct stat *st, struct sbx_error *err)
{
	if (S_ISDIR(st->st_mode))
		return send_tree(c, fcntl(fd, F_DUPFD_CLOEXEC, 0), st, err);
	c->meter.total = (uint64_t)st->st_size;
	return send_file(c, fd, st, "", err);
}

static int open_source(const char *from, struct stat *ret, struct sbx_error *err)
{
	auto_close int fd = open(from, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return sbx_fail(err, SBX_E_NOT_FOUND, "there is no file '%s' on this machine", from);
	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot open '%s'", from);
	if (fstat(fd, ret) < 0)
		return sbx_fail_errno(err, errno, "cannot stat '%s'", from);
	if (!S_ISREG(ret->st_mode) && !S_ISDIR(ret->st_mode))
		return sbx_fail(err, SBX_E_INVALID, "'%s' is neither a file nor a folder", from);
	return take_fd(fd);
}

int sbx_session_put(struct sbx_session *session, const char *from, const char *to,
		    const struct sbx_copy *how, struct sbx_copy_report *ret_report,
		    struct sbx_error *err)
{
	auto_free struct copy_in *c = calloc(1, sizeof(*c));
	auto_close int fd = -1;
	struct sbx_error lent;
	struct stat st;
	int r;

	err = err ? err : &lent;
	if (c == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot copy '%s'", from);
	sbx_meter_init(&c->meter, how);
	c->from = from;
	r = sbx_inside_path(to, c->to, err);
	if (r < 0)
		return r;
	fd = open_source(from, &st, err);
	if (fd < 0)
		return fd;
	r = sbx_sender_begin(&c->sender, session, c->meter.how->cancel, err);
	if (r < 0)
		return r;
	r = send_all(c, fd, &st, err);
	r = sbx_sender_end(&c->sender, r, err);
	if (ret_report != NULL && r == 0)
		*ret_report = c->meter.report;
	return r;
}
